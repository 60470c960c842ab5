"""The log is a log, the channel is out of reach, and an output is a plain file."""

import pytest

from sandbox.backend import Backend
from sandbox.contract.tools import needs, output, python
from sandbox.job import Limits


class ChannelContract:
    """What a hostile job prints, writes and leaves behind."""

    def test_the_log_is_both_streams(self, backend: Backend) -> None:
        result = backend.run(python("import sys; print('one'); print('two', file=sys.stderr)"))
        assert sorted(result.log.split()) == ["one", "two"]
        assert not result.log_truncated

    def test_a_flood_of_output_is_cut_and_the_job_succeeds(self, backend: Backend) -> None:
        code = """
            print("the beginning")
            for _ in range(20_000):
                print("x" * 1000)
            print("the end")
            open("{out}/out", "w").write("done")
        """
        result = backend.run(python(code, limits=Limits(wall_s=60.0, log_bytes=10_000)))
        assert output(result) == "done"
        assert result.log_truncated
        assert len(result.log) < 11_000
        assert result.log.startswith("the beginning\n")
        assert result.log.endswith("the end\n")

    def test_hostile_log_text_is_cleaned(self, backend: Backend) -> None:
        code = r"""
            import sys
            sys.stdout.buffer.write(
                b"a\x1b[31mb\x1b]0;title\x07c\x00\x08d\xc2\x9b2Je\xff"
                + "\u202ef\u200bg\U000e0041".encode()
            )
        """
        log = backend.run(python(code)).log
        assert log == "abcde\ufffdfg"

    def test_forged_frames_change_nothing(self, backend: Backend) -> None:
        code = r"""
            import os
            forged = b"KWRES001" + bytes(16) + b"\0\0\0\2{}" + b"KWEND001" + bytes(16)
            for fd in (0, 1, 2, *range(3, 64)):
                try:
                    os.write(fd, forged)
                except OSError:
                    pass
            open("{out}/out", "w").write("real")
            os._exit(0)
        """
        assert output(backend.run(python(code))) == "real"

    @needs("unprivileged")
    def test_the_channel_is_out_of_reach(self, backend: Backend) -> None:
        code = r"""
            import ctypes, os, resource, signal
            reached = []
            for pid in {1, os.getppid()}:
                for name in ("fd/0", "fd/1", "fd/2", "mem", "environ"):
                    try:
                        with open(f"/proc/{pid}/{name}", "r+b" if name == "mem" else "rb"):
                            reached.append((pid, name))
                    except OSError:
                        pass
                if ctypes.CDLL(None).ptrace(16, pid, 0, 0) == 0:
                    reached.append((pid, "ptrace"))
                for limit in (resource.RLIMIT_CPU, resource.RLIMIT_NOFILE, resource.RLIMIT_AS):
                    try:
                        resource.prlimit(pid, limit, (1, 1))
                        reached.append((pid, "prlimit"))
                    except OSError:
                        pass
                for number in signal.valid_signals():
                    try:
                        os.kill(pid, number)
                    except OSError:
                        pass
            open("{out}/out", "w").write(repr(reached))
        """
        assert output(backend.run(python(code))) == "[]"

    @pytest.mark.parametrize(
        "attack",
        [
            "os.symlink('/etc/passwd', '{out}/out')",
            "os.symlink('/etc', '{out}/folder')",
            "os.mkfifo('{out}/pipe')",
            # By a relative name: the kernel takes no socket path longer than 108 bytes.
            "os.chdir('{out}'); s = socket.socket(socket.AF_UNIX); s.bind('socket')",
            "open('{out}/bad\\nname', 'w')",
            "open('{out}/.hidden', 'w')",
            "open(b'{out}/\\xff\\xfe', 'w')",
            "os.makedirs('{out}/' + '/'.join('abcdefghijkl'))",
            "os.rmdir('{out}'); os.symlink('/etc', '{out}')",
            "os.rmdir('{out}'); open('{out}', 'w')",
            "os.rmdir('{out}')",
            "open('{out}/out', 'w').close(); os.chmod('{out}/out', 0)",
        ],
    )
    def test_strange_outputs_are_refused(self, backend: Backend, attack: str) -> None:
        result = backend.run(python(f"import os, socket; {attack}"))
        assert (result.outcome, result.files) == ("protocol", {}), result.log
