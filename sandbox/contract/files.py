"""What a job is given and what it returns."""

import secrets
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.backend import Backend
from sandbox.contract.tools import output, python
from sandbox.errors import PolicyError
from sandbox.job import MIB, Job, Mount


class FilesContract:
    """Files, mounts, commands and exit codes."""

    def test_it_is_a_backend(self, backend: Backend) -> None:
        assert isinstance(backend, Backend)
        backend.check()
        digest = backend.toolchain_digest()
        assert len(digest) == 64
        assert digest == backend.toolchain_digest()

    def test_files_go_in_and_come_out(self, backend: Backend) -> None:
        code = """
            import os, shutil
            assert os.getcwd() == os.path.realpath("{work}"), os.getcwd()
            os.mkdir("{out}/deep")
            shutil.copy("{in}/a/b.bin", "{out}/deep/c.bin")
            open("out/empty", "w").close()
        """
        result = backend.run(python(code, files={"a/b.bin": bytes(range(256))}))
        assert result.ok, result.log
        assert result.files == {"deep/c.bin": bytes(range(256)), "empty": b""}
        assert result.duration_ns > 0

    def test_inputs_arrive_bit_exact(self, backend: Backend) -> None:
        names = st.from_regex(r"[a-z]{1,8}(\.[a-z]{1,3})?", fullmatch=True)

        # Applied in here: a decorated method would be shared by all subclasses.
        @settings(max_examples=5, deadline=None)
        @given(st.dictionaries(names, st.binary(max_size=300)))
        def copied(files: dict[str, bytes]) -> None:
            code = "import shutil; shutil.copytree('{in}', '{out}', dirs_exist_ok=True)"
            assert backend.run(python(code, files=files)).files == files

        copied()

    def test_large_files_pass_both_ways(self, backend: Backend) -> None:
        body = secrets.token_bytes(3 * MIB) * 7
        code = "import shutil; shutil.copy('{in}/big', '{out}/big')"
        result = backend.run(python(code, files={"big": body}))
        assert result.files.get("big") == body, (result.outcome, result.log)

    def test_mounts_are_readable_and_importable(self, backend: Backend, tmp_path: Path) -> None:
        folder = tmp_path / "lent"
        folder.mkdir(mode=0o755)
        (folder / "lent_module.py").write_text("VALUE = 41\n")
        mount = Mount(source=folder, target="/lent/code", on_path=True)
        code = """
            import lent_module, os
            assert os.path.dirname(lent_module.__file__) == os.environ["WHERE"] == "{mount:0}"
            open("{out}/out", "w").write(str(lent_module.VALUE))
        """
        job = python(code, mounts=(mount,), environment={"WHERE": "{mount:0}"})
        assert output(backend.run(job)) == "41"

    def test_the_toolchain_is_importable(self, backend: Backend) -> None:
        code = "import numpy; open('{out}/out', 'w').write(str(numpy.arange(5).sum()))"
        assert output(backend.run(python(code))) == "10"

    def test_a_placeholder_of_no_mount_is_refused(self, backend: Backend) -> None:
        with pytest.raises(PolicyError):
            backend.run(python("print('{mount:0}')"))

    @pytest.mark.parametrize("code", [0, 1, 7, 255])
    def test_exit_codes_are_reported(self, backend: Backend, code: int) -> None:
        result = backend.run(python(f"import os; os._exit({code})"))
        assert (result.outcome, result.exit_code) == ("exited", code)
        assert result.ok == (code == 0)

    def test_signals_are_reported(self, backend: Backend) -> None:
        result = backend.run(python("import os; os.kill(os.getpid(), 11)"))
        assert (result.outcome, result.signal, result.exit_code) == ("signalled", 11, None)

    def test_a_missing_command_is_clear(self, backend: Backend) -> None:
        result = backend.run(Job(command=("no-such-command-here",)))
        assert (result.outcome, result.exit_code) == ("exited", 127)
        assert "cannot start 'no-such-command-here'" in result.log
