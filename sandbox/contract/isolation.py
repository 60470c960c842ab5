"""What a job cannot see or touch, and how a disguise changes what it sees."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sandbox.backend import Backend
from sandbox.contract.tools import OWN_NAMES, needs, output, python
from sandbox.job import Disguise, Mount


class IsolationContract:
    """Network, root, user, environment, and other jobs."""

    @needs("empty_environment")
    def test_the_environment_is_named_variables_only(
        self, backend: Backend, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("KERNELWRIGHT_SECRET", "not for jobs")
        code = "import json, os; json.dump(dict(os.environ), open('{out}/out', 'w'))"
        text = output(backend.run(python(code, environment={"NAMED": "value"})))
        environment = json.loads(text)
        assert environment["NAMED"] == "value"
        assert set(environment) <= OWN_NAMES | {"NAMED"}
        assert "not for jobs" not in text

    @needs("network")
    def test_there_is_no_network(self, backend: Backend) -> None:
        code = r"""
            import os, socket
            reached = []
            for address in (("127.0.0.1", 22), ("10.0.0.1", 80), ("172.17.0.1", 80)):
                try:
                    socket.create_connection(address, timeout=2).close()
                    reached.append(address)
                except OSError:
                    pass
            try:
                reached.append(socket.getaddrinfo("example.org", 80))
            except OSError:
                pass
            reached += [name for _, name in socket.if_nameindex() if name != "lo"]
            routes = open("/proc/net/route").read().splitlines()[1:]
            open("{out}/out", "w").write(repr(reached + routes))
        """
        assert output(backend.run(python(code))) == "[]"

    @needs("network")
    def test_the_loopback_of_the_host_is_another(self, backend: Backend) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            code = f"""
                import socket
                try:
                    socket.create_connection(("127.0.0.1", {server.getsockname()[1]}), timeout=3)
                    answer = "reached"
                except OSError:
                    answer = "refused"
                open("{{out}}/out", "w").write(answer)
            """
            assert output(backend.run(python(code))) == "refused"

    @needs("read_only_root")
    def test_the_root_is_read_only(self, backend: Backend, tmp_path: Path) -> None:
        folder = tmp_path / "lent"
        folder.mkdir()
        folder.chmod(0o777)
        (folder / "file").write_text("as it was")
        (folder / "file").chmod(0o666)
        code = r"""
            import os, sys
            written = []
            folders = "/ /usr /etc /opt /var /srv /home /dev /sys/fs/cgroup".split()
            for folder in [*folders, "/proc/sys/kernel", "{mount:0}", *filter(None, sys.path)]:
                for name in ("kernelwright-probe", "file", "hostname"):
                    try:
                        with open(os.path.join(folder, name), "w"):
                            written.append((folder, name))
                    except OSError:
                        pass
            open("{out}/out", "w").write(repr(written))
        """
        result = backend.run(python(code, mounts=(Mount(source=folder, target="/lent"),)))
        assert output(result) == "[]"
        assert (folder / "file").read_text() == "as it was"

    @needs("unprivileged")
    def test_the_user_has_no_privileges(self, backend: Backend) -> None:
        code = r"""
            import os
            status = dict(
                line.split(":", 1) for line in open("/proc/self/status").read().splitlines()
            )
            assert os.getuid() and os.geteuid() and os.getgid(), os.getresuid()
            assert not os.getgroups() or 0 not in os.getgroups(), os.getgroups()
            for name in ("CapEff", "CapPrm", "CapInh", "CapBnd", "CapAmb"):
                assert int(status[name], 16) == 0, (name, status[name])
            assert int(status["NoNewPrivs"]) == 1
            for attempt in (lambda: os.setuid(0), lambda: os.chroot("/work"), lambda: os.nice(-5)):
                try:
                    attempt()
                except OSError:
                    continue
                raise AssertionError(attempt)
            open("{out}/out", "w").write("plain user")
        """
        assert output(backend.run(python(code))) == "plain user"

    def test_jobs_do_not_see_each_other(self, backend: Backend) -> None:
        backend.run(python("open('{work}/left', 'w'); open('{in}/left', 'w')"))
        code = "import os; assert sorted(os.listdir('{work}')) == ['home', 'in', 'out', 'tmp']"
        result = backend.run(python(code))
        assert result.ok, result.log

    def test_a_disguise_is_put_on(self, backend: Backend, tmp_path: Path) -> None:
        folder = tmp_path / "lent"
        folder.mkdir(mode=0o755)
        code = r"""
            import json, os, socket
            facts = {
                "user": [os.getuid(), os.getgid()], "host": socket.gethostname(),
                "work": "{work}", "mount": "{mount:0}", "hash": hash("a word"),
                "environment": dict(os.environ), "files": os.listdir("{in}"),
            }
            json.dump(facts, open("{out}/out", "w"))
        """
        job = python(
            code,
            files=dict.fromkeys(("c", "a", "d", "b"), b""),
            mounts=(Mount(source=folder, target="/lent"),),
        )
        disguise = Disguise(
            user_id=2345,
            group_id=2346,
            work_dir="/var-b/box",
            mount_root="/elsewhere",
            hostname="quite-another",
            environment={"EDITOR": "ed"},
        )
        plain = json.loads(output(backend.run(job)))
        other = json.loads(output(backend.run(job.model_copy(update={"disguise": disguise}))))
        assert other["work"].endswith("/var-b/box")
        assert other["environment"]["EDITOR"] == "ed"
        assert "EDITOR" not in plain["environment"]
        assert plain["hash"] != other["hash"]
        assert sorted(plain["files"]) == sorted(other["files"])
        if backend.is_boundary:
            assert other["user"] == [2345, 2346] != plain["user"]
            assert other["host"] == "quite-another" != plain["host"]
            assert other["mount"] == "/elsewhere/lent"
            assert plain["files"] != other["files"]

    def test_jobs_run_at_the_same_time(self, backend: Backend) -> None:
        jobs = [python(f"open('{{out}}/out', 'w').write('{index}')") for index in range(4)]
        with ThreadPoolExecutor(2) as pool:
            assert [output(result) for result in pool.map(backend.run, jobs)] == list("0123")
