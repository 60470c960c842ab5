"""Runs: the store of record, review, promotion into the library, and the way back."""
