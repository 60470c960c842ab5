"""The image built from the Dockerfile on a pinned slim Python, where a registry answers."""

import contextlib
import importlib.metadata
import io
import logging
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import docker
import docker.errors
import requests
from packaging.requirements import Requirement

from sandbox.errors import InfrastructureError
from sandbox.image.model import Image
from sandbox.toolchain import digest_of

logger = logging.getLogger(__name__)

_FOLDER = Path(__file__).parent
# What jobs import; everything that these require comes along at the version of this host.
_ROOTS = (
    *("jax", "numpy", "scipy", "triton", "flatbuffers", "pydantic"),
    # A promotion runs an op's contract suite in here.
    *("pytest", "pytest-timeout", "hypothesis", "jaxtyping", "beartype"),
)
_ADVICE = "try python -m sandbox.image --mode host"
_PROBE_TIMEOUT_S = 10
_BUILD_TIMEOUT_S = 3600


def plan() -> Image:
    """The image of the Dockerfile and of this host's versions."""
    version = re.search(r"^FROM python:(\d+\.\d+)", _dockerfile(), re.MULTILINE)
    if not version:
        raise InfrastructureError("sandbox/image/Dockerfile has no line FROM python:<version>")
    identity = {"mode": "registry", "dockerfile": _dockerfile(), "pins": pins()}
    return Image(
        mode="registry",
        digest=digest_of(identity),
        python="/usr/local/bin/python3",
        site_packages=(f"/usr/local/lib/python{version[1]}/site-packages",),
    )


def _dockerfile() -> str:
    return (_FOLDER / "Dockerfile").read_text()


def base_image() -> str:
    """Name of the image that the Dockerfile starts from."""
    match = re.search(r"^FROM (\S+)", _dockerfile(), re.MULTILINE)
    if not match:
        raise InfrastructureError("sandbox/image/Dockerfile has no FROM line")
    return match[1]


def pins() -> list[str]:
    """``name==version`` of the roots and of all that they require, as installed here."""
    constraints = _FOLDER / "constraints.txt"
    if constraints.exists():
        lines = constraints.read_text().splitlines()
        return sorted(line for line in map(str.strip, lines) if line and line[0] != "#")
    found: dict[str, str] = {}
    pending: list[str] = [*_ROOTS]
    while pending:
        name = re.sub(r"[-_.]+", "-", pending.pop()).lower()
        if name in found:
            continue
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        found[name] = distribution.version
        for text in distribution.requires or ():
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                pending.append(requirement.name)
    return [f"{name}=={version}" for name, version in sorted(found.items())]


def base_is_at_hand(client: docker.DockerClient) -> bool:
    """Whether the base image is here, or its registry answers within seconds."""
    try:
        client.images.get(base_image())
        return True
    except docker.errors.ImageNotFound:
        pass
    try:
        with _patience(client, _PROBE_TIMEOUT_S):
            client.api.inspect_distribution(base_image())
        return True
    except (docker.errors.DockerException, requests.RequestException):
        return False


@contextlib.contextmanager
def _patience(client: docker.DockerClient, seconds: int) -> Iterator[None]:
    """Wait this long for the daemon's answers for a while."""
    usual, client.api.timeout = client.api.timeout, seconds
    try:
        yield
    finally:
        client.api.timeout = usual


def make(client: docker.DockerClient, image: Image) -> None:
    """Build the Dockerfile with the generated requirements. Progress goes to the log."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        files = {"Dockerfile": _dockerfile(), "requirements.txt": "\n".join(pins()) + "\n"}
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    buffer.seek(0)
    try:
        with _patience(client, _BUILD_TIMEOUT_S):
            _build(client, buffer, image)
    except docker.errors.DockerException as error:
        raise InfrastructureError(f"docker build failed ({error}): {_ADVICE}") from error


def _build(client: docker.DockerClient, context: io.BytesIO, image: Image) -> None:
    events = client.api.build(
        fileobj=context,
        custom_context=True,
        tag=image.tag,
        labels=image.labels,
        rm=True,
        forcerm=True,
        decode=True,
    )
    for event in events:
        if "error" in event:
            raise InfrastructureError(f"docker build failed ({event['error']}): {_ADVICE}")
        line = str(event.get("stream", event.get("status", ""))).strip()
        if line:
            logger.debug("build: %s", line)
