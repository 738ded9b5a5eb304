"""Which files a run looks at: what was named, and the Python files below the folders that were named."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# ruff's list, and what flake8 adds to it.
DEFAULT_EXCLUDES = frozenset(
    {
        ".bzr",
        ".direnv",
        ".eggs",
        ".git",
        ".git-rewrite",
        ".hg",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".nox",
        ".pants.d",
        ".pyenv",
        ".pytest_cache",
        ".pytype",
        ".ruff_cache",
        ".svn",
        ".tox",
        ".venv",
        ".vscode",
        "CVS",
        "__pycache__",
        "__pypackages__",
        "_build",
        "buck-out",
        "build",
        "dist",
        "node_modules",
        "site-packages",
        "venv",
    }
)


@dataclass(frozen=True, slots=True)
class Problem:
    """A path the tool could do nothing with, and why."""

    path: Path
    message: str


@dataclass(frozen=True, slots=True)
class _Layer:
    """Patterns in gitignore's language, and the folder they are relative to."""

    base: Path
    spec: Any

    def verdict(self, path: Path, is_dir: bool) -> bool | None:
        """True: ignored. False: a `!` pattern brings it back. None: no pattern speaks of it."""
        try:
            relative = path.relative_to(self.base).as_posix()
        except ValueError:
            return None
        return self.spec.check_file(relative + "/" * is_dir).include

    def without(self, path: Path) -> _Layer:
        """The layer less its patterns that hide the folder `path`, which the user has named all the same."""
        if self.verdict(path, True) is not True:
            return self
        relative = path.relative_to(self.base).as_posix() + "/"
        kept = [pattern for pattern in self.spec.patterns if pattern.match_file(relative) is None]
        return _Layer(self.base, type(self.spec)(kept))


def find_files(
    paths: Iterable[Path],
    *,
    root: Path | None = None,
    exclude: Sequence[str] = (),
    respect_gitignore: bool = True,
) -> Iterator[Path | Problem]:
    """The files to lint, in a stable order and each once, with what stood in the way.

    A file that is named is always among them. Below a folder that is named only Python files are, less what
    `exclude` (relative to `root`), .gitignore files and the default excludes hide. Links to folders are not
    followed, so a loop of links ends.
    """
    seen: set[str] = set()
    walker = _Walker(_excludes(root, exclude), respect_gitignore)
    for path in paths:
        for item in walker.walk(path) if os.path.isdir(path) else _named_file(path):
            key = os.path.abspath(item.path if isinstance(item, Problem) else item)
            if key not in seen:
                seen.add(key)
                yield item


def _named_file(path: Path) -> Iterator[Path | Problem]:
    try:
        path.stat()
    except OSError as error:
        yield Problem(path, (error.strerror or str(error)).lower())
    else:
        yield path


def _excludes(root: Path | None, patterns: Sequence[str]) -> tuple[_Layer, ...]:
    return (_layer(root or Path.cwd(), patterns),) if patterns else ()


def _layer(base: Path, lines: Iterable[str]) -> _Layer:
    from pathspec import GitIgnoreSpec

    patterns: list[Any] = []
    for line in lines:
        try:
            patterns += GitIgnoreSpec.from_lines([line]).patterns
        except ValueError:  # git passes over a line it can't read, too
            continue
    return _Layer(Path(os.path.abspath(base)), GitIgnoreSpec(patterns))


class _Walker:
    """Walks folders, knowing what to leave out."""

    def __init__(self, excludes: tuple[_Layer, ...], respect_gitignore: bool) -> None:
        self.excludes = excludes
        self.respect_gitignore = respect_gitignore

    def walk(self, start: Path) -> Iterator[Path | Problem]:
        """Everything below a folder the user named: no pattern can hide the folder itself."""
        here = Path(os.path.abspath(start))
        excludes = tuple(layer.without(here) for layer in self.excludes)
        above = tuple(layer.without(here) for layer in self._gitignores_above(here))
        yield from self._folder(start, excludes, above)

    def _folder(
        self, folder: Path, excludes: tuple[_Layer, ...], gitignores: tuple[_Layer, ...]
    ) -> Iterator[Path | Problem]:
        gitignores += self._gitignore(Path(os.path.abspath(folder)))
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            yield Problem(folder, f"cannot read: {error.strerror}")
            return
        for entry in entries:
            is_dir = entry.is_dir(follow_symlinks=False)
            wanted = entry.name not in DEFAULT_EXCLUDES if is_dir else _is_python_file(entry)
            path = folder / entry.name
            if wanted and not _hidden(path, is_dir, excludes, gitignores):
                yield from self._folder(path, excludes, gitignores) if is_dir else (path,)

    def _gitignores_above(self, folder: Path) -> tuple[_Layer, ...]:
        """The .gitignore files between the top of the folder's repository and the folder."""
        above = []
        for parent in (folder, *folder.parents):
            if parent != folder:
                above.append(parent)
            if (parent / ".git").exists():
                return tuple(layer for top in reversed(above) for layer in self._gitignore(top))
        return ()

    def _gitignore(self, folder: Path) -> tuple[_Layer, ...]:
        path = folder / ".gitignore"
        if not self.respect_gitignore or not path.is_file():
            return ()
        try:
            lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
        except OSError:  # git goes on without it, too
            return ()
        return (_layer(folder, lines),)


def _is_python_file(entry: os.DirEntry[str]) -> bool:
    try:
        # An editor's lock file is a link that leads nowhere, so look at what a link leads to.
        return entry.name.endswith(".py") and entry.is_file()
    except OSError:  # a link to itself
        return False


def _hidden(path: Path, is_dir: bool, excludes: tuple[_Layer, ...], gitignores: tuple[_Layer, ...]) -> bool:
    """Whether patterns leave a path out. Of the .gitignore files, the one nearest to the path decides."""
    if not excludes and not gitignores:
        return False
    here = Path(os.path.abspath(path))
    if any(layer.verdict(here, is_dir) for layer in excludes):
        return True
    verdicts = (layer.verdict(here, is_dir) for layer in reversed(gitignores))
    return bool(next((verdict for verdict in verdicts if verdict is not None), False))


def display_path(path: str | os.PathLike[str]) -> str:
    """A path as users read it: relative to where they stand when it lies below, else absolute."""
    absolute = os.path.abspath(path)
    below = os.path.join(os.getcwd(), "")
    return absolute[len(below) :] if absolute.startswith(below) and absolute != below else absolute
