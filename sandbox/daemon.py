"""The Docker daemon: how it is reached, and how its faults are told from a job's."""

import contextlib
import os
import socket
from collections.abc import Iterator

import docker
import docker.errors
import requests

from sandbox.errors import InfrastructureError

ADVICE = "start the Docker daemon (for example: dockerd &), then try again"
FAULTS = (docker.errors.DockerException, requests.RequestException, OSError)
_DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
_API_TIMEOUT_S = 60
_KNOCK_TIMEOUT_S = 10


@contextlib.contextmanager
def faults_are_infrastructure() -> Iterator[None]:
    """Turn whatever the daemon or its socket throws into one clear `InfrastructureError`."""
    try:
        yield
    except docker.errors.APIError as error:
        detail = error.explanation or str(error)
        raise InfrastructureError(f"the Docker daemon refused: {detail}") from error
    except FAULTS as error:
        raise InfrastructureError(f"no Docker daemon answers ({error}): {ADVICE}") from error


class Daemon:
    """One daemon, at ``base_url`` or where the environment of the host says."""

    def __init__(self, base_url: str | None = None) -> None:
        self._base_url = base_url
        self._version: str | None = None

    def unix_socket(self) -> str | None:
        """Path of the daemon's unix socket, None where it has another kind of address."""
        address = self._base_url or os.environ.get("DOCKER_HOST") or _DEFAULT_ADDRESS
        return address.removeprefix("unix://") if address.startswith("unix://") else None

    def knock(self) -> None:
        """Raise `OSError` unless something listens at the daemon's unix socket.

        The SDK leaks a socket for every connection that fails, so ask before it tries.
        """
        path = self.unix_socket()
        if path is None:
            return
        with socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(_KNOCK_TIMEOUT_S)
            probe.connect(path)

    @contextlib.contextmanager
    def client(self) -> Iterator[docker.DockerClient]:
        """A client for one use: sessions of requests are not safe to share between threads.

        Faults of the daemon inside the block become `InfrastructureError`.
        """
        with faults_are_infrastructure():
            self.knock()
            version = self._version or "auto"
            if self._base_url:
                client = docker.DockerClient(self._base_url, version, timeout=_API_TIMEOUT_S)
            else:
                client = docker.from_env(version=version, timeout=_API_TIMEOUT_S)
            try:
                self._version = client.api.api_version
                yield client
            finally:
                client.close()
