"""Which file of a project an import means, by file names alone: nothing is parsed."""

from __future__ import annotations

import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import islice, takewhile
from pathlib import Path

from trl_lint import files

_WORDS = re.compile(r"\W+")
# Folders of installed packages. All other packages lie next to an installed one, so they do not belong to its project.
INSTALLED = frozenset({"site-packages", "dist-packages"})


class ImportSearch:
    """Find the files of a project that imports mean.

    roots: directories for imports that nothing near the importing file matches. overlay: unsaved contents, consulted
    before the disk. linted: the files that are linted, as opposed to those that are only imported.
    """

    def __init__(self, roots: Sequence[Path] = ()) -> None:
        self.roots = tuple(root if os.path.isdir(root) else root.parent for root in roots)
        self.overlay: dict[Path, bytes] = {}
        self.linted: set[Path] = set()
        # Whether a file exists, for all paths that were queried, as texts: to make and compare a path takes longer than
        # to look whether it exists.
        self.exists: dict[str, bool] = {}
        self._names: dict[Path, str] = {}
        self._spellings: dict[Path, tuple[str, ...]] = {}
        self._projects: dict[Path, tuple[Path, ...]] = {}
        self._tops: dict[Path, tuple[Path, tuple[str, ...]]] = {}
        # Of the folders around one, which are called what: where they lie.
        self._above: dict[Path, dict[str, list[Path]]] = {}
        self._installed: dict[tuple[Path, str], tuple[Path, ...]] = {}
        self._found: dict[tuple[str, Path, Sequence[str]], Path | None] = {}
        self._folders: dict[Path, Path] = {}
        self._overlaid: tuple[tuple[Path, ...], Set[str]] = ((), frozenset())

    def find_from(self, dotted: str, path: Path, top: Path | None = None, added: Sequence[str] = ()) -> Path | None:
        """The file of the project that `import dotted` means in a file; None if it lies outside.

        Of the installed packages, only the importer's own one and those that are linted belong to the project. top: the
        directory that holds the file's top-level package. added: the folders that the file adds to the search path.
        """
        key = (dotted, self._folder_of(path), added)
        if key not in self._found:
            top = self._place(path)[0] if top is None else top
            found = self._search(dotted, path, top) or self._search_added(dotted, path, added)
            self._found[key] = found or self._search_renamed(dotted, path, top)
        return self._found[key]

    def name_of(self, path: Path) -> str:
        """The dotted name of a file of the project, without opening it."""
        if path not in self._names:
            self._names[path] = self._place(path)[1]
        return self._names[path]

    def names_of(self, path: Path) -> tuple[str, ...]:
        """The dotted names by which a file may be imported: according to its packages, and relative to the roots."""
        if path not in self._spellings:
            names = [self.name_of(path)]
            for root in self.roots:
                if path.is_relative_to(root):
                    parts = path.relative_to(root).with_suffix("").parts
                    names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
            self._spellings[path] = tuple(dict.fromkeys(name for name in names if name))
        return self._spellings[path]

    def below(self, package: Path, name: str) -> Path | None:
        """The submodule of this name in a package (given by its `__init__.py`), if it exists."""
        if package.name != "__init__.py" or not name:
            return None
        folder = package.parent
        candidates = (f"{name}.py", os.path.join(name, "__init__.py"))
        return next((folder / each for each in candidates if self.holds(folder, each)), None)

    def package_of(self, path: Path) -> Path | None:
        """The `__init__.py` of the package of a file, which runs before the file."""
        if path.name == "__init__.py" or not self.holds(path.parent, "__init__.py"):
            return None
        return path.parent / "__init__.py"

    def _search(self, dotted: str, path: Path, top: Path) -> Path | None:
        if not dotted:
            return None
        first, folder = dotted.partition(".")[0], self._folder_of(path)
        near = (top, folder, *self._around(folder, first))
        nearby = self._first_in(near, dotted, path, top)
        if nearby is not None:
            return nearby
        found = self._first_in((root for root in self.roots if root not in near), dotted, path, top)
        if found is None and self.roots and first not in sys.stdlib_module_names:
            bases = (*self._project_of(folder), *self._distributions(folder, first))
            return self._first_in(bases, dotted, path, top)
        # A project in a subfolder usually has its own copy of the file: a program's own folder comes first.
        return found and (self._first_in(takewhile(self._is_below_roots, top.parents), dotted, path, top) or found)

    def _project_of(self, folder: Path) -> tuple[Path, ...]:
        """The nearest folder around a file, below the first root, that declares what its code needs, if there is one.

        The programs in its folders (`part/tools/train.py`) are started in it, with its path in `PYTHONPATH`.
        """
        if folder not in self._projects:
            self._projects[folder] = tuple(islice(filter(self._names_project, self._below_first_root(folder)), 1))
        return self._projects[folder]

    def _below_first_root(self, folder: Path) -> Iterator[Path]:
        """The folder and those around it, up to the first root."""
        root = self.roots[0]
        if folder.is_relative_to(root):
            yield from takewhile(lambda each: each != root, (folder, *folder.parents))
            yield root

    def _distributions(self, folder: Path, package: str) -> tuple[Path, ...]:
        """The projects in a folder and those around it that have the name of a package: `my-models/my_models/`.

        They are installed from there: `pip install -e my-models`. The package may also be in `src`.
        """
        key = (folder, package)
        if key not in self._installed:
            self._installed[key] = () if _is_library(package) else tuple(self._find_distributions(folder, package))
        return self._installed[key]

    def _find_distributions(self, folder: Path, package: str) -> Iterator[Path]:
        named = dict.fromkeys((package, package.replace("_", "-")))
        for project in (around / name for around in self._below_first_root(folder) for name in named):
            holders = [each for each in (project, project / "src") if self.holds(each, f"{package}/__init__.py")]
            yield from holders if holders and self._names_project(project) else ()

    def _names_project(self, folder: Path) -> bool:
        return any(self.holds(folder, mark) for mark in files.PROJECT_MARKS)

    def _is_below_roots(self, folder: Path) -> bool:
        return folder not in self.roots and folder.parent != folder

    def _search_added(self, dotted: str, path: Path, added: Sequence[str]) -> Path | None:
        """The file in one of the folders that a file adds to the search path, in the nearest one of its name.

        Where they are is computed (`os.path.join(here, "src")`), so that only how they end is known; of one above the
        file, it may be any that has what is imported.
        """
        first = dotted.partition(".")[0]
        if not first or first in sys.stdlib_module_names or _is_library(first):
            return None
        around = (*takewhile(self._is_below_roots, path.parents), *self.roots)
        bases = (folder / each for each in added for folder in around)
        return self._first_in(bases, dotted, path, path.parent)

    def _search_renamed(self, dotted: str, path: Path, top: Path) -> Path | None:
        """The file in the outermost package around a file, if its folder has another name: `mylib` in `mylib-main/`.

        So are folders called that GitHub packs, and those of a second checkout.
        """
        first, _, rest = dotted.partition(".")
        if not first or path.parent == top or first in sys.stdlib_module_names or _is_library(first):
            return None
        folder = next((each for each in path.parents if each.parent == top), None)
        if folder is None or first == folder.name:
            return None
        if first not in _WORDS.split(folder.name) or not self.holds(folder, "__init__.py"):
            return None
        inside = folder.joinpath(*rest.split(".")) if rest else folder
        candidates = (inside / "__init__.py", *((inside.with_suffix(".py"),) if rest else ()))
        return next((each for each in candidates if each != path and self.has_file(each)), None)

    def _first_in(self, bases: Iterable[Path], dotted: str, path: Path, top: Path) -> Path | None:
        first, own = dotted.partition(".")[0], self._folder_of(path)
        for base in dict.fromkeys(bases):
            # Inside a package, `import wandb` means the library even if a file of this name lies next to it. For a
            # script, its own folder comes first.
            if base == own != top and _is_library(first):
                continue
            if base.name in INSTALLED and not self._is_in_project(base / first, path):
                continue
            for relative in _files_of(dotted):
                if self.holds(base, relative) and (found := base / relative) != path:
                    return found
        return None

    def _around(self, folder: Path, package: str) -> Sequence[Path]:
        """The parents of the folders of this name around one, as a file usually imports from its own package.

        A package may have no `__init__.py`, and its folder may lie somewhere below the roots.
        """
        if folder not in self._above:
            above = self._above[folder] = defaultdict(list)
            for each in takewhile(self._is_below_roots, (folder, *folder.parents)):
                above[each.name].append(each.parent)
        return self._above[folder].get(package, ())

    def _is_in_project(self, package: Path, importer: Path) -> bool:
        """Whether an installed package (or one-file module) contains the importer or a linted file."""
        known = (importer, *self.linted)
        return any(path.is_relative_to(package) or path == package.with_suffix(".py") for path in known)

    def has_file(self, path: Path) -> bool:
        """Whether a file is at a path; the answer is recorded, as results depend on it."""
        return self._is_file(str(path))

    def holds(self, folder: Path, relative: str) -> bool:
        """The same of a file in a folder, or below it."""
        return self._is_file(os.path.join(folder, relative))

    def _is_file(self, path: str) -> bool:
        known = self.exists.get(path)
        if known is None:
            known = self.exists[path] = path in self._unsaved() or os.path.isfile(path)
        return known

    def _unsaved(self) -> Set[str]:
        """The paths in the overlay, as texts."""
        paths = tuple(self.overlay)
        if paths != self._overlaid[0]:
            self._overlaid = (paths, frozenset(map(str, paths)))
        return self._overlaid[1]

    def _folder_of(self, path: Path) -> Path:
        if path not in self._folders:
            self._folders[path] = path.parent
        return self._folders[path]

    def text(self, path: Path) -> bytes:
        """The content of a file; empty if it can't be read."""
        try:
            return self.overlay[path] if path in self.overlay else files.read(path)
        except (OSError, ValueError):
            return b""

    def _place(self, path: Path) -> tuple[Path, str]:
        """The directory above the top-level package, and the dotted name of the module."""
        directory, packages = self._top_of(self._folder_of(path))
        parts = packages if path.name == "__init__.py" else (*packages, path.stem)
        return directory, ".".join(parts) or path.stem

    def _top_of(self, folder: Path) -> tuple[Path, tuple[str, ...]]:
        """The directory above the top-level package that a folder belongs to, and the names of the packages below."""
        known = self._tops.get(folder)
        if known is None:
            if self.holds(folder, "__init__.py") and folder.parent != folder:
                top, packages = self._top_of(folder.parent)
                known = top, (*packages, folder.name)
            else:
                known = folder, ()
            self._tops[folder] = known
        return known


@lru_cache(maxsize=1024)
def _files_of(dotted: str) -> tuple[str, str]:
    """The files that a module may be in, from the folder of its top-level package."""
    path = dotted.replace(".", os.sep)
    return os.path.join(path, "__init__.py"), f"{path}.py"


def _is_library(package: str) -> bool:
    from trl_lint.knowledge.library import LIBRARY_ROOTS

    return package in LIBRARY_ROOTS
