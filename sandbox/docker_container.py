"""One container of the Docker backend: how it looks, and what is said over its channel."""

from __future__ import annotations

import contextlib
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import docker
import docker.errors
import docker.types
from pydantic import BaseModel, ConfigDict

from sandbox import owner
from sandbox.attach import Channel
from sandbox.backend import SHIM_ARGUMENTS, Place
from sandbox.daemon import ADVICE, Daemon, faults_are_infrastructure
from sandbox.errors import InfrastructureError, PolicyError
from sandbox.frames import FrameError, Read, read_result
from sandbox.image import Image
from sandbox.job import MIB, Disguise, Job, JobResult, Limits, Mount
from sandbox.logs import clean_log

LABEL = "kernelwright"
LABEL_OWNER = "kernelwright.owner"
# Beyond the job's own time: start of the container, transfer of its files, the shim's kill.
GRACE_S = 30.0
_SHM_BYTES = 4 * MIB
_TMP_BYTES = 64 * MIB
_INODES = 65_536
_NOBODY = 65_534
# What the shim exits with when its channel closes; no job can make it do so.
_EXIT_HOST_GONE = 3
_EXIT_KILLED = 137


@dataclass
class Container:
    """A started container: the far end of a `sandbox.waiting.Link`."""

    daemon: Daemon
    client: docker.DockerClient
    name: str
    channel: Channel
    nonce: bytes
    limits: Limits

    def faults(self) -> contextlib.AbstractContextManager[None]:
        return faults_are_infrastructure()

    def send(self, frames: Iterable[bytes], deadline: float) -> None:
        self.channel.send(frames, deadline)

    def reader(self, deadline: float) -> Read:
        return self.channel.reader(deadline)

    def finish(self, frames: Iterable[bytes], wall_s: float) -> JobResult:
        """Send what is left to send and read the result, or say how the container ended."""
        deadline = time.monotonic() + wall_s + GRACE_S
        started = time.monotonic_ns()
        try:
            self.send(frames, deadline)
            return read_result(self.reader(deadline), self.nonce, self.limits)
        except TimeoutError:
            return self._explain("timeout", "", started)
        except (FrameError, BrokenPipeError, ConnectionResetError) as error:
            text = f"sandbox: {error}\n{clean_log(self.channel.diagnostics)}"
            return self._explain("protocol", text, started)

    def _explain(self, otherwise: Any, text: str, started: int) -> JobResult:
        """Name the outcome of a container that gave no result; raises if the daemon is gone."""
        self.daemon.knock()
        state = _settled_state(self.client, self.name)
        outcome = "memory" if state.get("OOMKilled") else otherwise
        # The stream broke although the container lives, or its shim saw the channel close, or it
        # was killed although PID 1 takes no signal from inside: none of it is the job's doing.
        ended_by = state.get("ExitCode")
        if outcome == "protocol" and (
            state.get("Running") or ended_by in (_EXIT_HOST_GONE, _EXIT_KILLED)
        ):
            raise InfrastructureError(f"lost the connection to a container: {ADVICE}")
        return JobResult(outcome=outcome, log=text, duration_ns=time.monotonic_ns() - started)


def _settled_state(client: docker.DockerClient, identifier: str) -> dict[str, Any]:
    """State of a container, given a moment to end: its stream closes before its state is known."""
    deadline = time.monotonic() + 2.0
    while True:
        state = client.api.inspect_container(identifier)["State"]
        if not state.get("Running") or time.monotonic() > deadline:
            return state
        time.sleep(0.02)


class Layout(BaseModel):
    """How one container looks: the paths, the user and the mounts."""

    model_config = ConfigDict(frozen=True)

    place: Place
    binds: tuple[tuple[str, str], ...]
    user: str
    hostname: str


def layout_of(job: Job, image: Image) -> Layout:
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
    return Layout(
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


def create(
    client: docker.DockerClient,
    name: str,
    image: Image,
    layout: Layout,
    job: Job,
    *,
    waits: bool,
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
            host_config=_host_config(api, layout, limits, waits=waits),
            healthcheck={"test": ["NONE"]},
        )
    except docker.errors.ImageNotFound as error:
        raise InfrastructureError(
            f"image {image.tag} is missing: run python -m sandbox.image"
        ) from error


def _cpu_set(limits: Limits, *, waits: bool) -> str | None:
    """What the container may use at any time; the shim pins its command more closely."""
    if not waits or not limits.cpus:
        return limits.cpu_set
    return ",".join(map(str, sorted({*limits.cpus, *limits.ready_cpus})))


def _host_config(
    api: docker.APIClient, layout: Layout, limits: Limits, *, waits: bool
) -> dict[str, Any]:
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
        cpuset_cpus=_cpu_set(limits, waits=waits),
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
