"""The Python and the packages of this host, which the sandbox may lend to a job."""

import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import sys
import sysconfig
from pathlib import Path

from pydantic import BaseModel, ConfigDict


class HostToolchain(BaseModel):
    """Paths on this host, and what identifies them."""

    model_config = ConfigDict(frozen=True)

    interpreter: Path
    prefix: Path
    site_packages: tuple[Path, ...]
    digest: str


def digest_of(value: object) -> str:
    """SHA-256 (hex) of ``value`` as canonical JSON."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def installed_packages(folders: tuple[Path, ...]) -> list[str]:
    """``name==version`` of every distribution in ``folders``, sorted."""
    found = importlib.metadata.distributions(path=[str(folder) for folder in folders])
    return sorted({f"{item.name.lower()}=={item.version}" for item in found})


@functools.cache
def host_toolchain() -> HostToolchain:
    """The interpreter that runs this process, without its virtual environment's wrapper."""
    paths = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    folders = tuple(sorted(Path(path).resolve() for path in paths))
    identity = {
        "python": sys.version,
        "implementation": sys.implementation.name,
        "machine": platform.machine(),
        "libc": "-".join(platform.libc_ver()),
        "packages": installed_packages(folders),
    }
    return HostToolchain(
        interpreter=Path(os.path.realpath(sys.executable)),
        prefix=Path(sys.base_prefix).resolve(),
        site_packages=folders,
        digest=digest_of(identity),
    )
