"""A wheel is `reference_kernels` and needs jax alone; an editable install is the workbench."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXTRAS = {"agent", "cuda", "torch", "tpu"}
NEW_FILES = (
    "reference_kernels/tuned/some_device.json",
    "reference_kernels/rms_norm/evidence/some_promotion.json",
)
"""What a promotion leaves behind."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what git knows or would add, after a promotion."""
    folder = tmp_path_factory.mktemp("checkout")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, listed.split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / name).is_file():
            shutil.copyfile(ROOT / name, target)
    for name in NEW_FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")
    return folder


def built(checkout: Path, hook: str, out: Path) -> zipfile.ZipFile:
    """Call a hook of the build backend as pip does, offline: in a process, in the checkout."""
    script = f"import sys; from hatchling.build import {hook} as build; print(build(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", script, str(out)],
        cwd=checkout,
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return zipfile.ZipFile(out / done.stdout.split()[-1])


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return built(checkout, "build_wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def editable(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    return built(checkout, "build_editable", tmp_path_factory.mktemp("editable"))


def metadata(wheel: zipfile.ZipFile) -> Message:
    [name] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    return Parser().parsestr(wheel.read(name).decode())


def library(folder: Path) -> set[str]:
    """Every file of the library in a checkout."""
    files = (path for path in (folder / "reference_kernels").rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix() for path in files}


def test_the_wheel_is_the_library_and_nothing_else(wheel: zipfile.ZipFile, checkout: Path) -> None:
    names = set(wheel.namelist())
    [info] = {name.partition("/")[0] for name in names} - {"reference_kernels"}
    assert re.fullmatch(r"kernelwright-[0-9.]+\.dist-info", info)
    assert {name for name in names if not name.startswith(info)} == library(checkout)
    assert {"reference_kernels/py.typed", *NEW_FILES} <= names


def test_the_wheel_has_no_console_script(wheel: zipfile.ZipFile) -> None:
    assert not [name for name in wheel.namelist() if name.endswith("entry_points.txt")]
    assert not [name for name in wheel.namelist() if ".data/" in name]


def test_the_wheel_requires_jax_alone(wheel: zipfile.ZipFile) -> None:
    requirements = metadata(wheel).get_all("Requires-Dist", [])
    always = [line for line in requirements if "extra ==" not in line]
    assert [re.split(r"[^A-Za-z0-9-]", line)[0] for line in always] == ["jax"]
    assert set(metadata(wheel).get_all("Provides-Extra", [])) >= EXTRAS


def test_an_editable_install_gives_the_command(editable: zipfile.ZipFile, checkout: Path) -> None:
    files = {name.rpartition("/")[2]: editable.read(name).decode() for name in editable.namelist()}
    assert "kernelwright = agent.cli.__main__:run" in files["entry_points.txt"].splitlines()
    [path] = [text for name, text in files.items() if name.endswith(".pth")]
    assert Path(path.strip()).samefile(checkout)
    assert not [name for name in editable.namelist() if name.endswith(".py")]


def jax_and_its_dependencies() -> set[str]:
    """Distributions that `pip install jax` brings."""
    found: set[str] = set()
    waiting = ["jax"]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            for line in importlib.metadata.requires(name) or []:
                if ";" not in line:
                    waiting.append(re.split(r"[^A-Za-z0-9_.-]", line)[0])
    return found


@pytest.fixture(scope="module")
def site(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site-packages with the wheel, jax and what jax needs; nothing else can be imported."""
    folder = tmp_path_factory.mktemp("site")
    wheel.extractall(folder)
    for name in jax_and_its_dependencies():
        found = importlib.metadata.distribution(name)
        for top in {file.parts[0] for file in found.files or []} - {".."}:
            (folder / top).symlink_to(Path(str(found.locate_file(top))))
    return folder


SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
import importlib, json, pkgutil
import reference_kernels
from reference_kernels import catalog

for module in pkgutil.walk_packages(reference_kernels.__path__, "reference_kernels."):
    if not module.name.startswith("reference_kernels.testing"):
        importlib.import_module(module.name)
for name in catalog.names():
    assert callable(getattr(importlib.import_module(f"reference_kernels.{name}"), name)), name

import jax.numpy as jnp
from reference_kernels.rms_norm import rms_norm
assert rms_norm(jnp.ones((2, 8)), jnp.ones(8)).shape == (2, 8)
print(json.dumps({"file": reference_kernels.__file__, "modules": sorted(sys.modules)}))
"""


def test_the_installed_wheel_imports_and_runs_with_jax_alone(site: Path) -> None:
    """`-I -S`: no site-packages, no environment, no working directory on the path."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-W", "error", "-c", SCRIPT, str(site)],
        cwd=site,
        env={"PATH": os.environ["PATH"], "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert Path(found["file"]).is_relative_to(site)
    tops = {name.partition(".")[0] for name in found["modules"]}
    assert tops.isdisjoint({"pytest", "jaxtyping", "torch", "triton", "agent", "sandbox"})
    assert {"reference_kernels.rms_norm.triton", "reference_kernels.rms_norm.pallas_tpu"} <= set(
        found["modules"]
    )
