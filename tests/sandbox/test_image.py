"""Images are named by what is in them; nothing here needs a daemon."""

import re

import pytest

from sandbox.image import host, registry
from sandbox.toolchain import host_toolchain, installed_packages


def test_the_base_is_pinned_to_a_patch_release() -> None:
    assert re.fullmatch(r"python:3\.12\.\d+-slim-[a-z]+", registry.base_image())


def test_the_pins_are_exact_and_complete() -> None:
    pins = registry.pins()
    names = [pin.partition("==")[0] for pin in pins]
    assert all(re.fullmatch(r"[a-z0-9-]+==\S+", pin) for pin in pins)
    assert {"jax", "jaxlib", "numpy", "scipy", "ml-dtypes", "opt-einsum"} <= set(names)
    assert names == sorted(set(names))


def test_a_plan_is_named_by_its_content(monkeypatch: pytest.MonkeyPatch) -> None:
    before = registry.plan()
    assert registry.plan().tag == before.tag
    assert before.labels["kernelwright.digest"] == before.digest
    monkeypatch.setattr(registry, "pins", lambda: ["jax==0.0.1"])
    assert registry.plan().digest != before.digest


def test_the_host_lends_only_toolchain_folders() -> None:
    image = host.plan()
    targets = [bind.target for bind in image.binds]
    assert targets[0] == "/usr"
    assert set(targets) <= {"/usr", "/bin", "/lib", "/lib64", "/sbin"} | {
        target for target in targets if target.startswith("/opt/")
    }
    assert image.site_packages[0] == "/opt/site-packages"
    assert image.digest != host_toolchain().digest


def test_packages_are_names_and_versions() -> None:
    packages = installed_packages(host_toolchain().site_packages)
    assert any(package.startswith("jax==") for package in packages)
    assert packages == sorted(packages)
