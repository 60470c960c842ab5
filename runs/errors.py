"""What can go wrong in the store, a promotion or a rollback: one clear line each, with what to do.

`exit_code` follows DESIGN.md §7: 1 refused on its merits, 2 usage, 3 infrastructure.
"""

from __future__ import annotations


class RunStoreError(Exception):
    """Base of everything that `runs/` raises on purpose."""

    exit_code = 1


class UsageError(RunStoreError):
    """The caller named something that is not there, or named it badly."""

    exit_code = 2


class InfrastructureError(RunStoreError):
    """Not the candidate's fault: free the disk, wait, or repair, then retry."""

    exit_code = 3


class UnknownRunError(UsageError):
    """No such run."""


class UnknownRecordError(UsageError):
    """No such candidate, build, verdict, proposal, intent or promotion."""


class AmbiguousIdError(UsageError):
    """A short id fits more than one record."""


class ConflictingRecordError(RunStoreError):
    """A record with this id is stored already and says something else."""


class BudgetExceededError(RunStoreError):
    """A hard cap of the run would be passed; nothing was written."""


class IntentStateError(RunStoreError):
    """A paid request is not in the state that this step needs."""


class DiskFullError(InfrastructureError):
    """No space left; what was stored before is intact."""


class StoreBusyError(InfrastructureError):
    """Another process held the store for too long."""


class ReadOnlyStoreError(InfrastructureError):
    """The store lies where this process may not write."""


class CorruptStoreError(InfrastructureError):
    """A file of the store is not what was written."""


class CorruptBlobError(CorruptStoreError):
    """A blob's bytes do not have its digest."""


class MissingBlobError(InfrastructureError):
    """A blob that a record names is not in the store."""


class NewerStoreError(InfrastructureError):
    """The store was written by a newer checkout."""


class CheckoutError(UsageError):
    """The checkout is no git checkout, or git refused."""


class NotPromotableError(RunStoreError):
    """The verdict does not allow a promotion."""


class AlreadyPromotedError(NotPromotableError):
    """The candidate is in the library already."""


class ChangedIncumbentError(NotPromotableError):
    """The library's text or tuning entry is not what the candidate was derived from."""


class StaleToolchainError(NotPromotableError):
    """jax or jaxlib moved since the verdict."""


class DirtyCheckoutError(NotPromotableError):
    """A file that would be touched has uncommitted changes."""


class DifferentProgramError(NotPromotableError):
    """The patched checkout does not lower to the programs that were judged."""


class ContractFailedError(NotPromotableError):
    """The op's contract suite fails on the patched checkout."""


class ChangedSinceError(RunStoreError):
    """A promoted file has changed since, so the promotion cannot be reversed by itself."""
