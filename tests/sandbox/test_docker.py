"""The Docker backend keeps the whole contract, and tells a lost daemon from a bad job."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import docker
import pytest

import sandbox
from sandbox import owner
from sandbox.docker_backend import DockerBackend
from sandbox.testing import BackendContract, assert_honest_job_passes, python
from tests.sandbox.proxy import SocketProxy

# A machine without Docker fails these tests unless it says that it knows.
pytestmark = [
    pytest.mark.docker,
    pytest.mark.skipif(
        os.environ.get("KERNELWRIGHT_TEST_NO_DOCKER") == "1",
        reason="KERNELWRIGHT_TEST_NO_DOCKER=1",
    ),
]

DAEMON_SOCKET = "/var/run/docker.sock"


@pytest.fixture(scope="module")
def docker_backend() -> DockerBackend:
    return DockerBackend()


@pytest.fixture
def client() -> Iterator[docker.DockerClient]:
    client = docker.from_env()
    yield client
    client.close()


def ours(client: docker.DockerClient) -> list[str]:
    """Names of this process's containers."""
    label = f"kernelwright.owner={owner.label()}"
    return [item["Names"][0] for item in client.api.containers(all=True, filters={"label": label})]


class TestDocker(BackendContract):
    @pytest.fixture
    def backend(self, docker_backend: DockerBackend) -> sandbox.Backend:
        return docker_backend

    def test_it_claims_everything(self, backend: sandbox.Backend) -> None:
        assert backend.is_boundary
        assert len(backend.claims) == 10

    def test_jax_runs(self, backend: sandbox.Backend) -> None:
        code = "import jax.numpy as jnp; open('{out}/out', 'w').write(str(jnp.ones(3).sum()))"
        result = backend.run(python(code, environment={"JAX_PLATFORMS": "cpu"}))
        assert result.files["out"] == b"3.0", result.log
        assert result.peak_memory_bytes is not None

    def test_no_container_is_left(
        self, backend: sandbox.Backend, client: docker.DockerClient
    ) -> None:
        assert_honest_job_passes(backend)
        backend.run(python("while True: pass", limits=sandbox.Limits(wall_s=0.5)))
        assert ours(client) == []

    def test_the_host_does_not_show(self, backend: sandbox.Backend) -> None:
        code = r"""
            import os
            assert os.getpid() < 10
            assert sum(name.isdigit() for name in os.listdir("/proc")) == 2
            text = open("/etc/resolv.conf").read() + open("/etc/passwd").read()
            open("{out}/out", "w").write(text)
        """
        result = backend.run(python(code))
        assert result.ok, result.log
        assert "nameserver 127.0.0.1\n" in result.files["out"].decode()

    def test_a_mount_that_the_user_cannot_read_is_refused(
        self, backend: sandbox.Backend, tmp_path: Path
    ) -> None:
        tmp_path.chmod(0o700)
        mount = sandbox.Mount(source=tmp_path, target="/lent")
        with pytest.raises(sandbox.PolicyError, match="mode 755"):
            backend.run(python("pass", mounts=(mount,)))

    def test_the_cpu_set_holds(self, backend: sandbox.Backend) -> None:
        code = "import os; open('{out}/out', 'w').write(str(os.sched_getaffinity(0)))"
        limits = sandbox.Limits(wall_s=60.0, cpu_set="0")
        assert backend.run(python(code, limits=limits)).files["out"] == b"{0}"


class TestLostDaemon:
    @pytest.fixture
    def proxy(self) -> Iterator[SocketProxy]:
        # Not in tmp_path: the kernel takes no socket path longer than 108 bytes.
        with (
            tempfile.TemporaryDirectory(dir="/tmp") as folder,
            SocketProxy(Path(folder, "d.sock"), DAEMON_SOCKET) as proxy,
        ):
            yield proxy

    def test_a_daemon_that_vanishes_is_no_result(
        self,
        proxy: SocketProxy,
        docker_backend: DockerBackend,
        client: docker.DockerClient,
    ) -> None:
        backend = DockerBackend(base_url=f"unix://{proxy.path}")
        backend.image()
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(backend.run, python("import time; time.sleep(40)"))
            until(lambda: running(client) == 1)
            started = time.monotonic()
            proxy.cut()
            with pytest.raises(sandbox.InfrastructureError) as caught:
                future.result(timeout=30)
        assert "\n" not in str(caught.value)
        assert time.monotonic() - started < 15
        # The shim saw its channel close and ended; the container is then removed by the reaper.
        until(lambda: running(client) == 0)
        assert len(ours(client)) == 1
        assert docker_backend.reap() >= 1
        assert ours(client) == []
        with pytest.raises(sandbox.InfrastructureError):
            backend.check()

    def test_a_container_killed_from_outside_is_no_result(
        self, docker_backend: DockerBackend, client: docker.DockerClient
    ) -> None:
        with ThreadPoolExecutor(1) as pool:
            future = pool.submit(docker_backend.run, python("import time; time.sleep(40)"))
            until(lambda: running(client) == 1)
            client.api.kill(ours(client)[0].lstrip("/"))
            with pytest.raises(sandbox.InfrastructureError):
                future.result(timeout=30)

    def test_no_daemon_is_one_clear_line(self, tmp_path: Path) -> None:
        with pytest.raises(sandbox.InfrastructureError, match="start the Docker daemon") as caught:
            sandbox.open_backend("docker", base_url=f"unix://{tmp_path}/nobody.sock")
        assert "\n" not in str(caught.value)

    def test_containers_of_a_killed_owner_end_and_are_reaped(
        self, docker_backend: DockerBackend, client: docker.DockerClient
    ) -> None:
        code = (
            "import sandbox; from sandbox import warden; from sandbox.testing import python;"
            "warden.watch = lambda *_: None;"
            "sandbox.open_backend('docker').run(python('import time; time.sleep(41)'))"
        )
        child = subprocess.Popen([sys.executable, "-c", code])
        try:
            until(lambda: running(client, child.pid) == 1)
        finally:
            child.kill()
            child.wait()
        until(lambda: running(client, child.pid) == 0)
        assert docker_backend.reap() >= 1


def running(client: docker.DockerClient, pid: int | None = None) -> int:
    """How many containers of process ``pid`` (default: this one) run."""
    filters = {"label": "kernelwright=1", "status": "running"}
    owners = [
        item["Labels"]["kernelwright.owner"] for item in client.api.containers(filters=filters)
    ]
    wanted = str(pid or os.getpid())
    return sum(label.split(".")[2] == wanted for label in owners)


def until(condition: object, timeout_s: float = 20.0) -> None:
    """Wait for ``condition()``."""
    assert callable(condition)
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.05)


def test_the_image_command_speaks_json() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sandbox.image", "--mode", "host", "--json"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    facts = json.loads(done.stdout)
    assert facts["mode"] == "host"
    assert facts["tag"].endswith(facts["digest"][:16])
