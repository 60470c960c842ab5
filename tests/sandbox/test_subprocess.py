"""The subprocess backend keeps the contract, as far as it claims."""

import os
from pathlib import Path

import pytest

import sandbox
from sandbox.testing import BackendContract, python


class TestSubprocess(BackendContract):
    @pytest.fixture
    def backend(self) -> sandbox.Backend:
        return sandbox.open_backend("subprocess")

    def test_it_is_no_boundary(self, backend: sandbox.Backend) -> None:
        assert not backend.is_boundary
        assert not backend.claims & {"network", "read_only_root", "unprivileged"}

    def test_its_folder_is_removed(
        self, backend: sandbox.Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        code = "import os; os.mkdir('{work}/locked'); os.chmod('{work}/locked', 0)"
        assert backend.run(python(code)).ok
        assert os.listdir(tmp_path) == []

    def test_folders_of_dead_owners_are_reaped(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from sandbox import owner
        from sandbox.subprocess_backend import SubprocessBackend

        backend = SubprocessBackend()
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        boot, namespace, pid, started = owner.label().split(".")
        dead = f"{boot}.{namespace}.{pid}.{int(started) + 1}"
        for name in (dead, owner.label(), f"other.{namespace}.1.1"):
            (tmp_path / f"kernelwright-job-{name}-abc").mkdir()
        assert backend.reap() == 1
        assert not (tmp_path / f"kernelwright-job-{dead}-abc").exists()
