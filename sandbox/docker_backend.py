"""The Docker backend: one container a job, locked down, always removed."""

import contextlib
import logging
import secrets
import stat
import threading
import time
from typing import Any, get_args

import docker
import docker.errors
import docker.types
from pydantic import BaseModel, ConfigDict

from sandbox import owner
from sandbox.attach import Channel
from sandbox.backend import SHIM_ARGUMENTS, Claim, Place, new_nonce, ordered_files, shim_header
from sandbox.daemon import ADVICE, FAULTS, Daemon
from sandbox.errors import InfrastructureError, PolicyError
from sandbox.frames import FrameError, encode_job, read_result
from sandbox.image import Image, Mode, ensure_image
from sandbox.job import MIB, Disguise, Job, JobResult, Limits, Mount
from sandbox.logs import clean_log

logger = logging.getLogger(__name__)

LABEL = "kernelwright"
LABEL_OWNER = "kernelwright.owner"
# Beyond the job's own time: start of the container, transfer of its files, the shim's kill.
_GRACE_S = 30.0
_SHM_BYTES = 4 * MIB
_TMP_BYTES = 64 * MIB
_INODES = 65_536
_NOBODY = 65_534
# What the shim exits with when its channel closes; no job can make it do so.
_EXIT_HOST_GONE = 3
_EXIT_KILLED = 137
# Names of the containers that this process is using now.
_ACTIVE: set[str] = set()


class _Layout(BaseModel):
    """How one container looks: the paths, the user and the mounts."""

    model_config = ConfigDict(frozen=True)

    place: Place
    binds: tuple[tuple[str, str], ...]
    user: str
    hostname: str


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
        image = self.image()
        layout = _layout(job, image)
        nonce = new_nonce()
        header = shim_header(job, layout.place, contained=True)
        frames = encode_job(header, ordered_files(job), nonce)
        identifier = f"kernelwright-{secrets.token_hex(8)}"
        with self._daemon.client() as client:
            _ACTIVE.add(identifier)
            try:
                _create(client, identifier, image, layout, job)
                deadline = time.monotonic() + job.limits.wall_s + _GRACE_S
                started = time.monotonic_ns()
                with Channel(client, identifier) as channel:
                    client.api.start(identifier)
                    try:
                        channel.send(frames, deadline)
                        return read_result(channel.reader(deadline), nonce, job.limits)
                    except TimeoutError:
                        return self._explain(client, identifier, "timeout", "", started)
                    except (FrameError, BrokenPipeError, ConnectionResetError) as error:
                        text = f"sandbox: {error}\n{clean_log(channel.diagnostics)}"
                        return self._explain(client, identifier, "protocol", text, started)
            finally:
                self._remove(client, identifier)
                _ACTIVE.discard(identifier)

    def _explain(
        self, client: docker.DockerClient, identifier: str, otherwise: Any, text: str, started: int
    ) -> JobResult:
        """Name the outcome of a container that gave no result; raises if the daemon is gone."""
        self._daemon.knock()
        state = _settled_state(client, identifier)
        outcome = "memory" if state.get("OOMKilled") else otherwise
        # The stream broke although the container lives, or its shim saw the channel close, or it
        # was killed although PID 1 takes no signal from inside: none of it is the job's doing.
        ended_by = state.get("ExitCode")
        if outcome == "protocol" and (
            state.get("Running") or ended_by in (_EXIT_HOST_GONE, _EXIT_KILLED)
        ):
            raise InfrastructureError(f"lost the connection to a container: {ADVICE}")
        return JobResult(outcome=outcome, log=text, duration_ns=time.monotonic_ns() - started)

    def _remove(self, client: docker.DockerClient, name: str) -> None:
        try:
            self._daemon.knock()
            client.api.remove_container(name, force=True, v=True)
        except docker.errors.NotFound:
            pass
        except FAULTS as error:
            # `reap` removes it later; the job's own result or error matters more.
            logger.warning("could not remove container %s: %s", name, error)


def _settled_state(client: docker.DockerClient, identifier: str) -> dict[str, Any]:
    """State of a container, given a moment to end: its stream closes before its state is known."""
    deadline = time.monotonic() + 2.0
    while True:
        state = client.api.inspect_container(identifier)["State"]
        if not state.get("Running") or time.monotonic() > deadline:
            return state
        time.sleep(0.02)


def _layout(job: Job, image: Image) -> _Layout:
    disguise: Disguise | None = job.disguise
    root = (disguise.mount_root if disguise else None) or ""
    moved = {bind.target: root + bind.target for bind in image.binds if bind.movable}

    def move(path: str) -> str:
        for target, new in moved.items():
            if path == target or path.startswith(target + "/"):
                return new + path[len(target) :]
        return path

    mounts = tuple(root + mount.target for mount in job.mounts)
    work = disguise.work_dir if disguise else "/work"
    for target in mounts:
        if f"{target}/".startswith(f"{work}/") or f"{work}/".startswith(f"{target}/"):
            raise PolicyError(f"refused mount target {target}: it overlaps the working directory")
    sources = [_readable(mount) for mount in job.mounts]
    binds = [(bind.source, move(bind.target)) for bind in image.binds]
    python = move(image.python)
    user = (disguise.user_id, disguise.group_id) if disguise else (_NOBODY, _NOBODY)
    return _Layout(
        place=Place(
            work=work,
            python=python,
            site_packages=tuple(move(path) for path in image.site_packages),
            mounts=mounts,
            path=f"{python.rpartition('/')[0]}:/usr/local/bin:/usr/bin:/bin",
            library_path=move(image.library_path) if image.library_path else None,
        ),
        binds=tuple(binds + list(zip(sources, mounts, strict=True))),
        user=f"{user[0]}:{user[1]}",
        hostname=disguise.hostname if disguise else "sandbox",
    )


def _readable(mount: Mount) -> str:
    source = mount.resolved()
    needed = stat.S_IROTH | stat.S_IXOTH
    if source.stat().st_mode & needed != needed:
        raise PolicyError(
            f"refused mount for {mount.target}: the sandbox's user cannot read its source; "
            "give the folder mode 755"
        )
    return str(source)


def _create(
    client: docker.DockerClient, name: str, image: Image, layout: _Layout, job: Job
) -> None:
    """Create the container, stopped."""
    api, limits = client.api, job.limits
    environment = {"PATH": layout.place.path, "HOME": f"{layout.place.work}/home"}
    if layout.place.library_path:
        environment["LD_LIBRARY_PATH"] = layout.place.library_path
    try:
        api.create_container(
            image.tag,
            name=name,
            entrypoint=[layout.place.python],
            command=list(SHIM_ARGUMENTS),
            environment=environment,
            user=layout.user,
            hostname=layout.hostname,
            working_dir="/",
            stdin_open=True,
            labels={LABEL: "1", LABEL_OWNER: owner.label(), "kernelwright.job": job.label[:200]},
            host_config=_host_config(api, layout, limits),
            healthcheck={"test": ["NONE"]},
        )
    except docker.errors.ImageNotFound as error:
        raise InfrastructureError(
            f"image {image.tag} is missing: run python -m sandbox.image"
        ) from error


def _host_config(api: docker.APIClient, layout: _Layout, limits: Limits) -> dict[str, Any]:
    user, _, group = layout.user.partition(":")
    # Owned by the user: the runtime gives a tmpfs over a folder of the image that folder's mode.
    options = f"exec,nosuid,nodev,mode=0700,uid={user},gid={group},nr_inodes={_INODES}"
    tmp_bytes = min(limits.disk_bytes, _TMP_BYTES)
    return api.create_host_config(
        network_mode="none",
        # The daemon would copy the host's resolv.conf into the container.
        dns=["127.0.0.1"],
        dns_search=["."],
        read_only=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        ipc_mode="private",
        shm_size=_SHM_BYTES,
        pids_limit=limits.processes + 1,
        mem_limit=limits.memory_bytes,
        memswap_limit=limits.memory_bytes,
        cpuset_cpus=limits.cpu_set,
        tmpfs={
            layout.place.work: f"{options},size={limits.disk_bytes}",
            "/tmp": f"{options},size={tmp_bytes}",
        },
        mounts=[_bind(source, target) for source, target in layout.binds],
        init=False,
        log_config=docker.types.LogConfig(type=docker.types.LogConfig.types.NONE),
    )


def _bind(source: str, target: str) -> docker.types.Mount:
    mount = docker.types.Mount(target, source, type="bind", read_only=True, propagation="rprivate")
    # A mount below the source would stay writable: leave it out.
    mount["BindOptions"]["NonRecursive"] = True
    return mount
