"""The root file system and toolchain of the Docker backend: found by content, made when missing.

Three modes. ``registry`` builds the Dockerfile here on a pinned slim Python. ``host`` imports an
all but empty tar and lends the host's /usr, interpreter and packages by read-only mounts: it needs
no network at all. ``debootstrap`` puts a minimal Debian in the place of the host's /usr.
"""

import logging

import docker

from sandbox.errors import InfrastructureError
from sandbox.image import host, registry
from sandbox.image.model import LABEL_MODE, Image, Mode, find

__all__ = ["LABEL_MODE", "Image", "Mode", "ensure_image"]

logger = logging.getLogger(__name__)


def ensure_image(client: docker.DockerClient, mode: Mode = "auto") -> Image:
    """The image of ``mode``, made now if the daemon lacks it.

    ``auto`` takes what is there already, the registry's first; else it builds from the registry
    when the base is at hand within seconds, else it borrows from the host.
    """
    plans = {
        "registry": registry.plan,
        "host": host.plan,
        "debootstrap": host.plan_debootstrap,
    }
    if mode != "auto":
        image = plans[mode]()
        if not find(client, image.tag):
            _make(client, image)
        return image
    wanted = [plans["registry"](), plans["host"]()]
    for image in wanted:
        if find(client, image.tag):
            return image
    if registry.base_is_at_hand(client):
        try:
            _make(client, wanted[0])
            return wanted[0]
        except InfrastructureError as error:
            logger.warning("%s; borrowing the host's toolchain instead", error)
    _make(client, wanted[1])
    return wanted[1]


def _make(client: docker.DockerClient, image: Image) -> None:
    logger.info("making sandbox image %s (%s mode)", image.tag, image.mode)
    makers = {
        "registry": registry.make,
        "host": host.make,
        "debootstrap": host.make_debootstrap,
    }
    makers[image.mode](client, image)
    if not find(client, image.tag):
        raise InfrastructureError(
            f"image {image.tag} is missing after it was made: run python -m sandbox.image"
        )
    logger.info("sandbox image %s is ready", image.tag)
