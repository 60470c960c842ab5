"""What the checks share."""

import os
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sandbox.backend import Backend, Claim
from sandbox.job import Job, JobResult, Limits

# Names that the backend itself may set, beside those of the job; Python adds LC_CTYPE.
OWN_NAMES = frozenset(
    {
        "HOME",
        "TMPDIR",
        "PATH",
        "PYTHONPATH",
        "PYTHONDONTWRITEBYTECODE",
        "PYTHONHASHSEED",
        "LD_LIBRARY_PATH",
        "LC_CTYPE",
    }
)
# A limit must be reported within this time beyond what the job itself was allowed.
PROMPT_S = 20.0


def needs[F: Callable[..., None]](*claims: Claim) -> Callable[[F], F]:
    """Mark a check as applying only to backends that claim all of ``claims``."""

    def mark(check: F) -> F:
        check.__dict__["needed_claims"] = frozenset(claims)
        return check

    return mark


def python(code: str, **options: Any) -> Job:
    """A job that runs ``code``."""
    limits = options.pop("limits", Limits(wall_s=60.0))
    return Job(command=("{python}", "-c", textwrap.dedent(code)), limits=limits, **options)


def output(result: JobResult, name: str = "out") -> str:
    """Text of an output file of a job that must have succeeded."""
    assert result.ok, (result.outcome, result.exit_code, result.log)
    return result.files[name].decode()


def assert_honest_job_passes(backend: Backend) -> None:
    """A plain job still works, whatever the one before it did."""
    result = backend.run(python("open('{out}/out', 'w').write('honest')"))
    assert output(result) == "honest"


def processes_with(marker: str) -> list[str]:
    """Processes of this machine whose command line holds ``marker``, in containers too."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            text = (entry / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if marker in text:
            found.append(text)
    return found
