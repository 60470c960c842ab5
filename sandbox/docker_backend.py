"""The Docker backend: one container a job, locked down, always removed."""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
from collections.abc import Iterator
from typing import Any, get_args

import docker
import docker.errors

from sandbox import owner, warden
from sandbox.attach import Channel
from sandbox.backend import Claim, ReadySandbox, new_nonce, ordered_files, shim_header
from sandbox.daemon import FAULTS, Daemon
from sandbox.docker_container import LABEL, LABEL_OWNER, Container, create, layout_of
from sandbox.frames import encode_job
from sandbox.image import Image, Mode, ensure_image
from sandbox.job import Job, JobResult
from sandbox.waiting import Waiting

logger = logging.getLogger(__name__)

# Names of the containers that this process is using now.
_ACTIVE: set[str] = set()


class DockerBackend:
    """Runs jobs in containers: no network, read-only root, no capabilities, every limit enforced.

    ``image`` chooses how the toolchain image is made when it is missing; see `sandbox.image`.
    ``base_url`` is the daemon's address, by default what the environment of the host says.
    """

    name = "docker"
    is_boundary = True
    claims: frozenset[Claim] = frozenset(get_args(Claim))

    def __init__(self, image: Mode = "auto", base_url: str | None = None) -> None:
        self._mode: Mode = image
        self._daemon = Daemon(base_url)
        self._image: Image | None = None
        self._lock = threading.Lock()
        self._left_behind = False
        self.check()
        self.reap()

    def check(self) -> None:
        """Raise `InfrastructureError` unless the daemon answers."""
        with self._daemon.client() as client:
            client.ping()

    def image(self) -> Image:
        """The toolchain image, made on first use if the daemon lacks it."""
        with self._lock:
            if self._image is None:
                with self._daemon.client() as client:
                    self._image = ensure_image(client, self._mode)
            return self._image

    def toolchain_digest(self) -> str:
        """SHA-256 (hex) of the image: interpreter, packages and how they get there."""
        return self.image().digest

    def reap(self) -> int:
        """Remove containers that nobody owns any more. Returns how many."""
        removed = 0
        with self._daemon.client() as client:
            for container in client.api.containers(all=True, filters={"label": f"{LABEL}=1"}):
                name = container["Names"][0].lstrip("/")
                whose = container["Labels"].get(LABEL_OWNER, "")
                # Our own, when the daemon was lost before it could be removed.
                forgotten = whose == owner.label() and name not in _ACTIVE
                if forgotten or owner.is_gone(whose):
                    with contextlib.suppress(docker.errors.APIError):
                        client.api.remove_container(container["Id"], force=True, v=True)
                        removed += 1
        return removed

    def run(self, job: Job) -> JobResult:
        """Run ``job`` in a container of its own."""
        with self._container(job) as (container, header):
            frames = encode_job(header, ordered_files(job), container.nonce)
            return container.finish(frames, job.limits.wall_s)

    def ready(self, job: Job) -> ReadySandbox:
        """Start ``job`` in a container of its own, where it waits for the rest of its files."""
        with contextlib.ExitStack() as stack:
            container, header = stack.enter_context(self._container(job, waits=True))
            return Waiting(job, header, container, stack.pop_all())

    @contextlib.contextmanager
    def _container(
        self, job: Job, *, waits: bool = False
    ) -> Iterator[tuple[Container, dict[str, Any]]]:
        """A started container and the header of what it is to be sent; removed in the end."""
        image = self.image()
        layout = layout_of(job, image)
        header = shim_header(job, layout.place, contained=True, waits=waits)
        name = f"kernelwright-{secrets.token_hex(8)}"
        warden.watch(f"{LABEL_OWNER}={owner.label()}", self._daemon.unix_socket())
        if self._left_behind:
            self.reap()
            self._left_behind = False
        with self._daemon.client() as client:
            _ACTIVE.add(name)
            try:
                create(client, name, image, layout, job, waits=waits)
                with Channel(client, name) as channel:
                    client.api.start(name)
                    yield (
                        Container(self._daemon, client, name, channel, new_nonce(), job.limits),
                        header,
                    )
            finally:
                self._remove(client, name)
                _ACTIVE.discard(name)

    def _remove(self, client: docker.DockerClient, name: str) -> None:
        try:
            self._daemon.knock()
            client.api.remove_container(name, force=True, v=True)
        except docker.errors.NotFound:
            pass
        except FAULTS as error:
            # The next job's `reap` removes it; this job's own result or error matters more.
            self._left_behind = True
            logger.warning("could not remove container %s: %s", name, error)
