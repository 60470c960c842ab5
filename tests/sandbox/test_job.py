"""A job that asks for too much is refused before anything runs."""

from pathlib import Path
from typing import Any

import pytest

import sandbox
from sandbox import Disguise, Job, Limits, Mount, PolicyError
from sandbox.backend import Place, substitute

PLACE = Place(
    work="/w", python="/opt/python", site_packages=("/site",), mounts=("/lent",), path="/bin"
)


@pytest.mark.parametrize(
    "options",
    [
        {"command": ()},
        {"command": ("",)},
        {"command": ("a\0b",)},
        {"files": {"../a": b""}},
        {"files": {"/a": b""}},
        {"files": {"a": b"", "a/b": b""}},
        {"environment": {"PYTHONPATH": "/x"}},
        {"environment": {"LD_LIBRARY_PATH": "/x"}},
        {"environment": {"A=B": "x"}},
        {"environment": {"A": "x\0"}},
        {"files": {"a": bytes(1 << 20)}, "limits": Limits(disk_bytes=1 << 16)},
    ],
)
def test_a_bad_job_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(PolicyError):
        Job(**({"command": ("true",)} | options))


@pytest.mark.parametrize(
    "target", ["lent", "/", "/usr/lib", "/proc", "/etc", "/work", "/a/../etc", "/a/", "/a:b"]
)
def test_a_bad_mount_is_refused(target: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyError):
        Mount(source=tmp_path, target=target)


def test_two_mounts_have_two_targets(tmp_path: Path) -> None:
    mount = Mount(source=tmp_path, target="/lent")
    with pytest.raises(PolicyError):
        Job(command=("true",), mounts=(mount, mount))


def test_a_mount_is_a_directory(tmp_path: Path) -> None:
    for source in (tmp_path / "missing", Path("/")):
        with pytest.raises(PolicyError):
            Mount(source=source, target="/lent").resolved()


@pytest.mark.parametrize(
    "options", [{"work_dir": "/etc/x"}, {"hostname": "a b"}, {"environment": {"PATH": "/x"}}]
)
def test_a_bad_disguise_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(PolicyError):
        Disguise(**options)


@pytest.mark.parametrize("cpu_set", ["", "a", "1-", "1;2"])
def test_a_bad_cpu_set_is_refused(cpu_set: str) -> None:
    with pytest.raises(PolicyError):
        Limits(cpu_set=cpu_set)


def test_a_cpu_set_is_a_list_of_numbers() -> None:
    assert Limits(cpu_set="0-2,5").cpus == (0, 1, 2, 5)
    assert Limits().cpus == ()


def test_placeholders_are_replaced(tmp_path: Path) -> None:
    job = Job(
        command=("{python}", "-c", "{in} {out} {work} {mount:0} {other} {python}"),
        mounts=(Mount(source=tmp_path, target="/lent", on_path=True),),
        environment={"A": "{in}"},
    )
    command, environment = substitute(job, PLACE)
    assert command[0] == "/opt/python"
    assert command[-1] == "/w/in /w/out /w /lent {other} {python}"
    assert environment["A"] == "/w/in"
    assert environment["PYTHONPATH"] == "/lent:/site"


def test_backends_are_found_by_name() -> None:
    assert set(sandbox.backends()) == {"docker", "subprocess"}
    with pytest.raises(PolicyError, match="use one of"):
        sandbox.open_backend("podman")  # type: ignore[arg-type]
