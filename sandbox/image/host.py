"""Images that borrow this host's Python and packages by read-only mounts; no network needed."""

import io
import os
import platform
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import docker

from sandbox.errors import InfrastructureError
from sandbox.image.model import Bind, Image
from sandbox.toolchain import digest_of, host_toolchain

_SYSTEM_FOLDERS = ("bin", "lib", "lib64", "sbin")
_EMPTY_FOLDERS = ("dev", "etc", "opt", "proc", "run", "srv", "sys", "tmp", "usr", "var", "work")
# Names for the users that jobs run as: getpass.getuser() and os.path.expanduser() look them up.
_PASSWD = (
    "root:x:0:0:root:/nonexistent:/bin/false\n"
    "builder:x:1001:1001:builder:/nonexistent:/bin/false\n"
    "nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n"
)
_GROUP = "root:x:0:\nbuilder:x:1001:\nnogroup:x:65534:\n"
_NSSWITCH = "passwd: files\ngroup: files\nhosts: files\n"
_PYTHON_HOME = "/opt/python"
_PACKAGES_HOME = "/opt/site-packages"
# What the interpreter and the packages of the host link against.
_DEBIAN_PACKAGES = "libffi8,libbz2-1.0,liblzma5,libsqlite3-0,libssl3,libstdc++6,libgomp1,zlib1g"
_DEBOOTSTRAP_TIMEOUT_S = 900


def plan() -> Image:
    """The image that borrows /usr, the interpreter and the packages."""
    binds = [Bind(source="/usr", target="/usr")]
    for name in _SYSTEM_FOLDERS:
        # On a merged-/usr system these are links, which the image itself holds.
        folder = Path("/", name)
        if folder.is_dir() and not folder.is_symlink():
            binds.append(Bind(source=str(folder), target=str(folder)))
    return _borrow("host", binds, layout=_system_layout())


def plan_debootstrap() -> Image:
    """The image with a minimal Debian of its own; interpreter and packages are the host's."""
    return _borrow("debootstrap", [], layout=[_suite(), _DEBIAN_PACKAGES])


def _suite() -> str:
    """This host's release where it is Debian: the lent interpreter needs a C library as new."""
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return "stable"
    return release.get("VERSION_CODENAME", "stable") if release["ID"] == "debian" else "stable"


def _borrow(mode: str, binds: list[Bind], layout: object) -> Image:
    toolchain = host_toolchain()
    interpreter, library_path = toolchain.interpreter, None
    in_usr = toolchain.prefix.is_relative_to("/usr")
    if in_usr and mode == "host":
        python = str(interpreter)
    elif toolchain.prefix == Path("/usr"):
        raise InfrastructureError(
            "debootstrap mode cannot lend a Python that lives in /usr: use --mode host"
        )
    else:
        binds.append(Bind(source=str(toolchain.prefix), target=_PYTHON_HOME, movable=True))
        python = f"{_PYTHON_HOME}/{interpreter.relative_to(toolchain.prefix)}"
        # A shared libpython is found by an absolute path of the host, which is elsewhere here.
        library_path = f"{_PYTHON_HOME}/lib"
    targets = []
    for index, folder in enumerate(toolchain.site_packages):
        target = f"{_PACKAGES_HOME}-{index}" if index else _PACKAGES_HOME
        binds.append(Bind(source=str(folder), target=target, movable=True))
        targets.append(target)
    identity = {
        "mode": mode,
        "toolchain": toolchain.digest,
        "layout": layout,
        "files": [_PASSWD, _GROUP, _NSSWITCH],
    }
    return Image(
        mode="host" if mode == "host" else "debootstrap",
        digest=digest_of(identity),
        python=python,
        site_packages=tuple(targets),
        binds=tuple(binds),
        library_path=library_path,
    )


def _system_layout() -> dict[str, str | None]:
    """Top folders of the host's system: where a link points, None for a real folder."""
    layout: dict[str, str | None] = {}
    for name in _SYSTEM_FOLDERS:
        folder = Path("/", name)
        if folder.is_symlink():
            layout[name] = os.readlink(folder)
        elif folder.is_dir():
            layout[name] = None
    return layout


def make(client: docker.DockerClient, image: Image) -> None:
    """Import the tar of mount points."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name in _EMPTY_FOLDERS:
            _add_folder(tar, name)
        for name, link in _system_layout().items():
            if link is None:
                _add_folder(tar, name)
                continue
            member = tarfile.TarInfo(name)
            member.type, member.linkname = tarfile.SYMTYPE, link
            tar.addfile(member)
        for name, text in (("passwd", _PASSWD), ("group", _GROUP), ("nsswitch.conf", _NSSWITCH)):
            member = tarfile.TarInfo(f"etc/{name}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    _import(client, image, buffer.getvalue())


def _add_folder(tar: tarfile.TarFile, name: str) -> None:
    member = tarfile.TarInfo(name)
    member.type, member.mode = tarfile.DIRTYPE, 0o755
    tar.addfile(member)


def make_debootstrap(client: docker.DockerClient, image: Image) -> None:
    """Bootstrap a minimal Debian (about half a minute) and import it."""
    if not shutil.which("debootstrap"):
        raise InfrastructureError("debootstrap is missing: install it, or use --mode host")
    with tempfile.TemporaryDirectory(prefix="kernelwright-image-") as folder:
        root = Path(folder, "root")
        try:
            subprocess.run(
                [
                    "debootstrap",
                    "--variant=minbase",
                    f"--include={_DEBIAN_PACKAGES}",
                    _suite(),
                    root,
                ],
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=_DEBOOTSTRAP_TIMEOUT_S,
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            raise InfrastructureError(f"debootstrap failed ({error}): use --mode host") from error
        for name in _EMPTY_FOLDERS:
            (root / name).mkdir(exist_ok=True)
        (root / "etc/passwd").write_text(_PASSWD)
        (root / "etc/group").write_text(_GROUP)
        packed = Path(folder, "root.tar")
        with tarfile.open(packed, "w") as tar:
            # Device nodes stay out: the runtime makes its own.
            tar.add(root, arcname=".", filter=lambda item: None if item.isdev() else item)
        _import(client, image, packed.read_bytes())


def _import(client: docker.DockerClient, image: Image, tar: bytes) -> None:
    repository, tag = image.tag.split(":")
    changes = [f'LABEL {name}="{value}"' for name, value in image.labels.items()]
    client.api.import_image_from_data(tar, repository=repository, tag=tag, changes=changes)
