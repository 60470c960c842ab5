"""The few things that a promotion asks of git."""

from __future__ import annotations

import fcntl
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from runs.errors import CheckoutError

_TIMEOUT_S = 300


def git(checkout: Path, *arguments: str, environ: Mapping[str, str] | None = None) -> str:
    """Run git in a checkout and return what it printed.

    Raises:
        CheckoutError: git refused; the message is its last line.
    """
    # A hook or a rebase that we run under must not point git at another repository.
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_DIR")}
    for name in ("GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"):
        clean.pop(name, None)
    try:
        done = subprocess.run(
            ["git", "-C", str(checkout), *arguments],
            env={**clean, "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", **(environ or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CheckoutError(f"git {arguments[0]} did not run: {error}") from error
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise CheckoutError(f"git {arguments[0]} refused: {said}")
    return done.stdout


def check_checkout(checkout: Path) -> None:
    """`checkout` is the top folder of a git checkout with a commit in it.

    Raises:
        CheckoutError
    """
    top = git(checkout, "rev-parse", "--show-toplevel").strip()
    if Path(top).resolve() != checkout.resolve():
        raise CheckoutError(f"{checkout.name} is inside a checkout: name its top folder")
    head(checkout)


def head(checkout: Path) -> str:
    return git(checkout, "rev-parse", "--verify", "HEAD").strip()


def dirty(checkout: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """Those of `paths` that differ from the last commit, staged or not, tracked or not."""
    listing = git(
        checkout,
        "status",
        "--porcelain",
        "-z",
        "--untracked-files=all",
        "--no-renames",
        "--",
        *paths,
    )
    return tuple(line[3:] for line in listing.split("\0") if line)


def export_head(checkout: Path, target: Path) -> None:
    """Write the files of the last commit into `target`; the checkout and its index stay as is."""
    target.mkdir(parents=True, exist_ok=True)
    index = target.parent / f"{target.name}.index"
    environ = {"GIT_INDEX_FILE": str(index)}
    try:
        git(checkout, "read-tree", "HEAD", environ=environ)
        git(checkout, "checkout-index", "-a", "-f", f"--prefix={target}/", environ=environ)
    finally:
        index.unlink(missing_ok=True)


def commit_paths(checkout: Path, paths: Sequence[str], message: str) -> str:
    """Commit these files and nothing else; return the commit."""
    git(checkout, "add", "--all", "--", *paths)
    git(checkout, "commit", "--quiet", "--only", "-m", message, "--", *paths)
    return head(checkout)


def uncommit(checkout: Path, base: str, named: str) -> bool:
    """Take back the last commit, keeping its files, if it is on `base` and mentions `named`."""
    parent, _, message = git(checkout, "log", "-1", "--format=%P%n%B").partition("\n")
    if parent.strip() != base or named not in message:
        return False
    git(checkout, "reset", "--quiet", "--soft", base)
    return True


def unstage(checkout: Path, paths: Sequence[str]) -> None:
    git(checkout, "reset", "--quiet", "--", *paths)


def folder(checkout: Path) -> Path:
    """The checkout's own git folder."""
    return Path(git(checkout, "rev-parse", "--absolute-git-dir").strip())


@contextmanager
def only_one(checkout: Path) -> Iterator[None]:
    """One promotion or rollback at a time in a checkout.

    Raises:
        CheckoutError: another one is at work.
    """
    with (folder(checkout) / "kernelwright-promotion.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CheckoutError(
                "another promotion or rollback is at work in this checkout: wait for it, run again"
            ) from None
        yield
