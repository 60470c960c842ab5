"""`Image`: what the Docker backend needs to know of a toolchain image."""

from typing import Literal

import docker
import docker.errors
from pydantic import BaseModel, ConfigDict

Mode = Literal["auto", "registry", "host", "debootstrap"]
MadeMode = Literal["registry", "host", "debootstrap"]

REPOSITORY = "kernelwright-sandbox"
LABEL = "kernelwright"
LABEL_MODE = "kernelwright.mode"
LABEL_DIGEST = "kernelwright.digest"


class Bind(BaseModel):
    """A folder of the host that the toolchain needs. A disguise may move a ``movable`` one."""

    model_config = ConfigDict(frozen=True)

    source: str
    target: str
    movable: bool = False


class Image(BaseModel):
    """A toolchain image, named by its content; paths are those inside the container."""

    model_config = ConfigDict(frozen=True)

    mode: MadeMode
    digest: str
    python: str
    site_packages: tuple[str, ...]
    binds: tuple[Bind, ...] = ()
    library_path: str | None = None

    @property
    def tag(self) -> str:
        """Name of the image in the daemon."""
        return f"{REPOSITORY}:{self.mode}-{self.digest[:16]}"

    @property
    def labels(self) -> dict[str, str]:
        """Labels that record how the image came to be."""
        return {LABEL: "1", LABEL_MODE: self.mode, LABEL_DIGEST: self.digest}


def find(client: docker.DockerClient, tag: str) -> bool:
    """Whether the daemon has an image with this name."""
    try:
        client.images.get(tag)
    except docker.errors.ImageNotFound:
        return False
    return True
