"""Proposers: whatever can turn what is known about a run into one more candidate."""
