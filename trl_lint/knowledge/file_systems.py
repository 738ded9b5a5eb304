"""Objects and modules of libraries that work on files as os does, and on those of other systems.

Read from the source of fsspec 2026.9 and its file system of the machine, iopath 0.1.10, etils 1.15 and
lightning-fabric 2.6, and from TensorFlow's documentation (`tf.io.gfile`). What opens a file is in `effects.OPENERS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trl_lint.findings import Consequence
from trl_lint.knowledge.effects import FILE_SYSTEM, PATH_MANAGERS
from trl_lint.knowledge.schema import NOTHING, UNKNOWN, Class, Effect, Function, Parameter, Row, created

_PACKAGES = ("lightning.fabric", "lightning.pytorch", "lightning_fabric", "pytorch_lightning")
_SYSTEM = "fsspec/spec.py::AbstractFileSystem"
_LOCAL = "fsspec/implementations/local.py::LocalFileSystem"
_MANAGER = "iopath/common/file_io.py::NativePathHandler"
_GFILES = ("tensorflow.compat.v1.gfile", "tensorflow.gfile", "tensorflow.io.gfile")
_GFILE = "https://www.tensorflow.org/api_docs/python/tf/io/gfile"
# A file that calls one of their functions has one of these names in it.
NAMED = (b"PathManager", b"fsspec", b"g_pathmgr", b"get_filesystem", b"gfile", b"url_to_fs")
# Their functions whose names other objects have as well.
COMMON = tuple(f".{name}" for name in ("copy", "cp", "delete", "move", "mv", "pipe", "put", "rename", "rm", "upload"))
# The protocol of a system in the memory of a process.
IN_MEMORY = "memory"
# The last parts of the names that are those of functions of os.
_ALIKE: Mapping[str, str] = {
    "exists": "os.path.exists", "isdir": "os.path.isdir", "isfile": "os.path.isfile", "ls": "os.listdir",
}  # fmt: skip
ALIASES: dict[str, str] = {
    **{f"{manager}.{name}": target for manager in PATH_MANAGERS for name, target in _ALIKE.items()},
    **{f"{manager}.rm": "os.remove" for manager in PATH_MANAGERS},
    **{f"{FILE_SYSTEM}.{name}": target for name, target in _ALIKE.items()},
    f"{FILE_SYSTEM}.glob": "glob.glob",
    f"{FILE_SYSTEM}.listdir": "os.listdir",
    "fsspec.core.open": "fsspec.open",
    "fsspec.core.url_to_fs": "fsspec.url_to_fs",
    "fsspec.implementations.local.LocalFileSystem": FILE_SYSTEM,
    "fsspec.registry.filesystem": "fsspec.filesystem",
    "fsspec.spec.AbstractFileSystem": FILE_SYSTEM,
    **{f"{package}.utilities.cloud_io.get_filesystem": "lightning.get_filesystem" for package in _PACKAGES},
    # It has the methods of a path, and `rmtree`.
    "etils.epath.Path": "pathlib.Path",
    **{
        f"{gfile}.{name}": target
        for gfile in _GFILES
        for name, target in {
            "exists": "os.path.exists",
            "glob": "glob.glob",
            "isdir": "os.path.isdir",
            "listdir": "os.listdir",
        }.items()
    },
}
# What a second rank finds done raises.
_MAKES_FOLDER = Effect(
    "creates the same folder",
    (0, "path"),
    fails=True,
    unless=("exist_ok", (1, "exist_ok")),
    makes=True,
    instead="let all ranks create it: `exist_ok=True`",
)
_MAKES_ONE = Effect(
    "creates the same folder", (0, "path"), fails=True, makes=True, instead="let all ranks create it: `makedirs`"
)
_REMOVES = Effect("removes the same file", (0, "path"), fails=True)
_REMOVES_FOLDER = Effect("removes the same folder", (0, "path"), fails=True)


def _copies(target: Parameter) -> Effect:
    return Effect("writes the same copy", target, consequence=Consequence.WASTE)


_OF_SYSTEM: dict[str, tuple[str, Effect]] = {
    **{name: (f"{_LOCAL}.makedirs", _MAKES_FOLDER) for name in ("makedirs", "mkdirs")},
    **{
        name: (f"{_LOCAL}.mkdir", _MAKES_ONE._replace(instead="let all ranks create it: `makedirs(…, exist_ok=True)`"))
        for name in ("makedir", "mkdir")
    },
    **{name: (f"{_LOCAL}.rm", _REMOVES) for name in ("delete", "rm", "rm_file")},
    "rmdir": (f"{_LOCAL}.rmdir", _REMOVES_FOLDER),
    **{
        name: (f"{_LOCAL}.mv", Effect("moves the same file", (0, "path1"), fails=True))
        for name in ("move", "mv", "rename")
    },
    **{name: (f"{_LOCAL}.cp_file", _copies((1, "path2"))) for name in ("copy", "cp", "cp_file")},
    **{name: (f"{_SYSTEM}.put", _copies((1, "rpath"))) for name in ("put", "put_file", "upload")},
    **{
        name: (f"{_SYSTEM}.{name}", Effect("writes the same file", (0, "path")))
        for name in ("pipe", "pipe_file", "write_bytes", "write_text")
    },
}
_OF_GFILE: dict[str, Effect] = {
    "copy": _copies((1, "dst")),
    # It makes the folders above as well, and succeeds if all are there.
    "mkdir": _MAKES_ONE,
    "remove": _REMOVES,
    "rename": Effect("renames the same file", (0, "src"), fails=True),
    "rmtree": _REMOVES_FOLDER,
}


def _rows() -> Iterator[Row]:
    yield Class(name=FILE_SYSTEM, source=_SYSTEM)
    yield Function(
        name="lightning.get_filesystem",
        source="lightning/fabric/utilities/cloud_io.py::get_filesystem",
        returns=created(FILE_SYSTEM),
    )
    for name, (source, effect) in _OF_SYSTEM.items():
        yield Function(name=f"{FILE_SYSTEM}.{name}", source=source, returns=NOTHING, effect=effect)
    # Its `mkdirs` is that of os with `exist_ok`, and its `mv` and `symlink` only log that they have failed.
    yield Class(name=PATH_MANAGERS[-1], source="iopath/common/file_io.py::PathManager")
    yield Function(
        name="iopath.common.file_io.PathManagerFactory.get",
        source="iopath/common/file_io.py::PathManagerFactory.get",
        returns=created(PATH_MANAGERS[-1]),
    )
    for manager in PATH_MANAGERS:
        for name in ("copy", "copy_from_local"):
            yield Function(
                name=f"{manager}.{name}",
                source=f"{_MANAGER}._copy",
                returns=UNKNOWN,
                effect=_copies((1, "dst_path")),
            )
    for gfile in _GFILES:
        for name, effect in _OF_GFILE.items():
            yield Function(name=f"{gfile}.{name}", source=f"{_GFILE}/{name}", returns=NOTHING, effect=effect)


ROWS: tuple[Row, ...] = tuple(_rows())
