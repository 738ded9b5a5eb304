"""Which file of a project an import means, by the names of files alone: nothing is parsed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from trl_lint.knowledge.library import LIBRARY_ROOTS

# Folders that hold what is installed. A package there has all others beside it, as it has nowhere else.
INSTALLED = frozenset({"site-packages", "dist-packages"})


class ImportSearch:
    """Finds the files of a project that imports mean.

    roots: where imports are looked up that mean nothing around a file. overlay: unsaved contents, consulted before the
    disk. linted: the files that are being linted, as opposed to those that are only imported.
    """

    def __init__(self, roots: Sequence[Path] = ()) -> None:
        self.roots = tuple(root if os.path.isdir(root) else root.parent for root in roots)
        self.overlay: dict[Path, bytes] = {}
        self.linted: set[Path] = set()
        # Whether there is a file at a path, for all that were asked about.
        self.exists: dict[Path, bool] = {}
        self._names: dict[Path, str] = {}
        self._spellings: dict[Path, tuple[str, ...]] = {}
        self._found: dict[tuple[str, Path], Path | None] = {}

    def find_from(self, dotted: str, path: Path, top: Path | None = None) -> Path | None:
        """The file of the project that `import dotted` means in a file; None when it lies outside.

        Of what is installed only the importer's own package is in the project, and packages that are being linted.
        top: the directory that holds the file's top-level package.
        """
        key = (dotted, path.parent)
        if key not in self._found:
            self._found[key] = self._search(dotted, path, self._place(path)[0] if top is None else top)
        return self._found[key]

    def name_of(self, path: Path) -> str:
        """The dotted name of a file of the project, without opening it."""
        if path not in self._names:
            self._names[path] = self._place(path)[1]
        return self._names[path]

    def names_of(self, path: Path) -> tuple[str, ...]:
        """The dotted names that a file may be imported by: as its packages say, and from the roots down."""
        if path not in self._spellings:
            names = [self.name_of(path)]
            for root in self.roots:
                if path.is_relative_to(root):
                    parts = path.relative_to(root).with_suffix("").parts
                    names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
            self._spellings[path] = tuple(dict.fromkeys(name for name in names if name))
        return self._spellings[path]

    def below(self, package: Path, name: str) -> Path | None:
        """The submodule of a package (given by its `__init__.py`), if there is one of that name."""
        if package.name != "__init__.py" or not name:
            return None
        for candidate in (package.parent / f"{name}.py", package.parent / name / "__init__.py"):
            if self.has_file(candidate):
                return candidate
        return None

    def _search(self, dotted: str, path: Path, top: Path) -> Path | None:
        if not dotted:
            return None
        relative = Path(*dotted.split("."))
        beside = self._first_in((top, path.parent, *self._around(path, relative.parts[0])), relative, path, top)
        if beside is not None:
            return beside
        found = self._first_in(self.roots, relative, path, top)
        # A project below has such a file of its own, as a rule: a program has its own folder first.
        return found and (self._first_in(takewhile(self._is_below_roots, top.parents), relative, path, top) or found)

    def _is_below_roots(self, folder: Path) -> bool:
        return folder not in self.roots and folder.parent != folder

    def _first_in(self, bases: Iterable[Path], relative: Path, path: Path, top: Path) -> Path | None:
        for base in dict.fromkeys(bases):
            # In a package `import wandb` means the library, whatever lies beside it: a script has its own folder first.
            if base == path.parent != top and relative.parts[0] in LIBRARY_ROOTS:
                continue
            if base.name in INSTALLED and not self._is_in_project(base / relative.parts[0], path):
                continue
            for candidate in (base / relative / "__init__.py", (base / relative).with_suffix(".py")):
                if candidate != path and self.has_file(candidate):
                    return candidate
        return None

    def _around(self, path: Path, package: str) -> Iterator[Path]:
        """The folders of the project that hold such a package around a file: what it imports is its own, as a rule.

        A package may have no `__init__.py`, and its folder may lie somewhere below the roots.
        """
        return (folder.parent for folder in takewhile(self._is_below_roots, path.parents) if folder.name == package)

    def _is_in_project(self, package: Path, importer: Path) -> bool:
        """Whether an installed package, or a module that is one file, has the importer or a linted file in it."""
        ours = (importer, *self.linted)
        return any(path.is_relative_to(package) or path == package.with_suffix(".py") for path in ours)

    def has_file(self, path: Path) -> bool:
        """Whether a file is at a path; what is found depends on that from now on."""
        if path not in self.exists:
            self.exists[path] = path in self.overlay or os.path.isfile(path)
        return self.exists[path]

    def _place(self, path: Path) -> tuple[Path, str]:
        """The directory above the top-level package, and the dotted name of the module."""
        parts = [] if path.name == "__init__.py" else [path.stem]
        directory = path.parent
        while self.has_file(directory / "__init__.py") and directory.parent != directory:
            parts.append(directory.name)
            directory = directory.parent
        return directory, ".".join(reversed(parts)) or path.stem
