"""Which file of a project an imported name means, as far as paths tell.

For example, in `first/train.py`, beside `first/data.py`, `second/data.py` and `src/second/losses.py`:

    import data                       first/data.py: beside the importing file, or in a folder around it
    from . import data                first/data.py: only what the dots say
    import second.losses              src/second/losses.py: any file whose path ends like the name
    import installed.second.losses    the same: its first part may be what the project is installed as
    import torch.utils.data           none
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePosixPath


def last_of(name: str) -> str:
    """The last part of a dotted name."""
    return name.rpartition(".")[2]


class ModuleNames:
    """The Python files of a project, by the names that they may be imported by."""

    def __init__(self, paths: Collection[str]) -> None:
        self._paths = frozenset(paths)
        self._named: dict[str, list[str]] = {}
        for each in sorted(paths):
            self._named.setdefault(name_of(each), []).append(each)
        self._meant: dict[tuple[str, str], frozenset[str]] = {}

    def meant_by(self, name: str, importer: str) -> frozenset[str]:
        """The files that an imported name may mean in a file."""
        folder = importer.rpartition("/")[0]
        if (name, folder) not in self._meant:
            self._meant[name, folder] = self._found(name, folder)
        return self._meant[name, folder]

    def _found(self, name: str, folder: str) -> frozenset[str]:
        near = self._near(name, folder)
        if near:
            return near
        outer = name.rpartition(".")[0]
        if outer.strip(".") and any(not each.endswith("__init__.py") for each in self._near(outer, folder)):
            return frozenset()  # not a module, but a name in one
        if name.startswith("."):
            return frozenset()  # a name in a package
        return self._ending_like(name) or self._ending_like(name.partition(".")[2])

    def _ending_like(self, name: str) -> frozenset[str]:
        of_name = self._named.get(last_of(name), ()) if name else ()
        return frozenset(each for each in of_name if f"/{_dotless(each)}".endswith(f"/{name.replace('.', '/')}"))

    def _near(self, name: str, folder: str) -> frozenset[str]:
        """The files of this name at the place that its dots say, or in a folder or those around it."""
        path = name.lstrip(".")
        around = [folder, *map(str, PurePosixPath(folder).parents)] if folder else [""]
        dots = len(name) - len(path)
        starts = around[dots - 1 : dots] if dots else around
        ends = [f"{path.replace('.', '/')}{end}" for end in (".py", "/__init__.py")]
        found = (f"{start}/{end}" if start not in ("", ".") else end for start in starts for end in ends)
        return self._paths.intersection(found)


def name_of(path: str) -> str:
    """The name that a file is imported by."""
    return _dotless(path).rpartition("/")[2]


def _dotless(path: str) -> str:
    """The path of a module, without what says that it is a file."""
    where = PurePosixPath(path)
    return str(where.parent if where.stem == "__init__" else where.with_suffix(""))
