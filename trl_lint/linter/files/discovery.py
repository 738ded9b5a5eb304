"""Which files a run looks at: what was named, and what is of use below the folders that were named."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint import files
from trl_lint.linter.files import patterns
from trl_lint.settings import ConfigError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# A file of patterns has no megabyte.
LARGEST_GITIGNORE = 1_000_000
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
        ".trl_lint_cache",
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
# Those of them in which a project may as well keep a package of its own, by the helpers for `torch.distributed` in it.
_MAY_BE_PACKAGES = frozenset({"build", "dist"})


def is_passed_over(folder: Path) -> bool:
    """Whether a folder is left out whoever asks: for its name, unless it is a package where others have built files."""
    if folder.name not in DEFAULT_EXCLUDES:
        return False
    return folder.name not in _MAY_BE_PACKAGES or not os.path.isfile(folder / "__init__.py")


@dataclass(frozen=True, slots=True)
class PathProblem:
    """A path the tool could do nothing with, and why.

    passed_over: nobody asked for it by name, and the rest of its folder is looked at all the same.
    """

    path: Path
    message: str
    passed_over: bool = False


@dataclass(frozen=True, slots=True)
class _Layer:
    """Patterns in gitignore's language, and the folder they are relative to."""

    base: Path
    spec: GitIgnoreSpec

    def verdict(self, path: Path, is_dir: bool) -> bool | None:
        """True: ignored. False: a `!` pattern brings it back. None: no pattern speaks of it."""
        try:
            relative = path.relative_to(self.base).as_posix()
        except ValueError:
            return None
        return self.spec.check_file(relative + "/" * is_dir).include

    def hides(self, path: Path) -> bool:
        """Whether a path is ignored itself or lies in a folder that is."""
        folders = _folders(path, self.base)
        return any(self.verdict(each, each in folders) for each in {*folders, path})

    def without(self, path: Path) -> _Layer:
        """The layer less its patterns that hide the folder `path`, which the user has named all the same."""
        if self.verdict(path, True) is not True:
            return self
        relative = path.relative_to(self.base).as_posix() + "/"
        kept = [pattern for pattern in self.spec.patterns if pattern.match_file(relative) is None]
        return _Layer(self.base, patterns.of(kept))


def find_files(
    paths: Iterable[Path],
    *,
    root: Path | None = None,
    exclude: Sequence[str] = (),
    include: Sequence[str] = (),
    respect_gitignore: bool = True,
    force_exclude: bool = False,
    launches: bool = False,
    wanted: Callable[[str], bool] | None = None,
    left_out: list[Path] | None = None,
) -> Iterator[Path | PathProblem]:
    """The files to lint, in a stable order and each once, with what stood in the way.

    left_out: a list that takes the files and folders that patterns hide.

    A file that is named is always among them, unless `force_exclude` asks for it to be treated like the rest.
    Below a folder that is named only Python files and notebooks are, and what `include` (relative to `root`) names,
    with `launches` also those that people launch programs from, or those whose names `wanted` asks for, less what
    `exclude` (relative to `root`), .gitignore files and the default excludes hide. Links to folders are not followed,
    so a loop of links ends.
    """
    seen: set[str] = set()
    included = _layers(root, include, "extend-include")
    walker = _Walker(_excludes(root, exclude), respect_gitignore, launches=launches, wanted=wanted, included=included)
    walker.left_out = [] if left_out is None else left_out
    for path in paths:
        if force_exclude and walker.leaves_out(path, root or Path.cwd()):
            walker.left_out.append(path)
            continue
        for item in walker.walk(path) if os.path.isdir(path) else _named_file(path):
            key = os.path.abspath(item.path if isinstance(item, PathProblem) else item)
            if key not in seen:
                seen.add(key)
                yield item


def is_excluded(path: Path, *, root: Path | None, exclude: Sequence[str], respect_gitignore: bool = True) -> bool:
    """Whether a file that somebody named would be left out if its project was walked."""
    return _Walker(_excludes(root, exclude), respect_gitignore).leaves_out(path, root or Path.cwd())


def is_included(path: Path, root: Path | None, include: Sequence[str]) -> bool:
    """Whether the patterns of `extend-include` (relative to `root`) name a file."""
    return bool(include) and matches(path, root=root, exclude=include)


def matches(path: Path, *, root: Path | None, exclude: Sequence[str]) -> bool:
    """Whether the patterns of `exclude` (relative to `root`) name a file or a folder that it is in."""
    return any(layer.hides(Path(os.path.abspath(path))) for layer in _excludes(root, exclude))


def import_roots(root: Path | None, named: Iterable[Path]) -> tuple[Path, ...]:
    """Where the imports of linted files are looked up: the project, its `src`, and the folders that were named.

    root: the project's folder; None where no settings name one, and the files say which it is. The folder that the
    user stands in counts for nothing, so that a file means the same wherever it is linted from.
    """
    paths = [Path(os.path.abspath(path)) for path in named]
    folders = [path if os.path.isdir(path) else path.parent for path in paths]
    top = Path(os.path.abspath(root or _project_around(folders or [Path.cwd()])))
    return tuple(dict.fromkeys((top, top / "src", *(path for path in paths if path in folders))))


def around_project(named: Iterable[Path], roots: Sequence[Path]) -> tuple[Path, ...]:
    """The folders among those named that hold all of the project: below them nothing is missing that may matter.

    roots: as `import_roots` gives them.
    """
    folders = [Path(os.path.abspath(path)) for path in named if os.path.isdir(path)]
    return tuple(each for each in folders if roots[0].is_relative_to(each))


# What the top folder of a project holds.
_TOP_MARKS = ("pyproject.toml", ".git", ".hg")
# What the folder of a project in a larger repository holds.
PROJECT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")


def _project_around(folders: Sequence[Path]) -> Path:
    """The nearest project that all these folders lie in; where there is none, the folder that they share."""
    shared = Path(os.path.commonpath(folders)) if len({folder.anchor for folder in folders}) == 1 else folders[0]
    start = folders[0] if shared == shared.parent else shared
    around = (start, *start.parents)
    return next((each for each in around if any(os.path.exists(each / mark) for mark in _TOP_MARKS)), start)


def names_project(folder: Path) -> bool:
    """Whether a folder says what the code in it needs, as a project of its own does."""
    return any(os.path.exists(folder / mark) for mark in PROJECT_MARKS)


def _named_file(path: Path) -> Iterator[Path | PathProblem]:
    try:
        found = path.stat()
    except OSError as error:
        yield PathProblem(path, (error.strerror or str(error)).lower())
    else:
        # A pipe or a device may have no end, or keep its reader waiting.
        yield path if stat.S_ISREG(found.st_mode) else PathProblem(path, "cannot read: not a regular file")


def _excludes(root: Path | None, exclude: Sequence[str]) -> tuple[_Layer, ...]:
    return _layers(root, exclude, "exclude")


def _layers(root: Path | None, lines: Sequence[str], key: str) -> tuple[_Layer, ...]:
    """The patterns of a setting, by which name it has, if it has any."""
    try:
        return (_layer(root or Path.cwd(), lines),) if lines else ()
    except patterns.TooMany as error:
        raise ConfigError(f"{key}: {error}") from None


def _layer(base: Path, lines: Iterable[str]) -> _Layer:
    return _Layer(Path(os.path.abspath(base)), patterns.spec(lines))


class _Walker:
    """Walks folders, knowing what to leave out."""

    def __init__(
        self,
        excludes: tuple[_Layer, ...],
        respect_gitignore: bool,
        *,
        launches: bool = False,
        wanted: Callable[[str], bool] | None = None,
        included: tuple[_Layer, ...] = (),
    ) -> None:
        self._is_wanted = _is_wanted_for_launches if launches else _is_python_file
        if wanted is not None:
            self._is_wanted = partial(_is_file_called, wanted)
        self._included = included
        self.excludes = excludes
        self.respect_gitignore = respect_gitignore
        self._gitignores: dict[Path, tuple[_Layer, ...]] = {}
        # What patterns hide.
        self.left_out: list[Path] = []
        # The .gitignore files that could not be read and have not been told of yet.
        self._unread: list[PathProblem] = []

    def walk(self, start: Path) -> Iterator[Path | PathProblem]:
        """Everything below a folder the user named: no pattern can hide the folder itself."""
        here = Path(os.path.abspath(start))
        excludes = tuple(layer.without(here) for layer in self.excludes)
        above = tuple(layer.without(here) for layer in self._gitignores_above(here))
        # A stack, as folders may lie deeper in each other than calls may.
        waiting: list[tuple[Path, bool, tuple[_Layer, ...]]] = [(start, True, above)]
        while waiting:
            path, is_folder, gitignores = waiting.pop()
            if not is_folder:
                yield path
                continue
            gitignores += self._gitignore(Path(os.path.abspath(path)))
            try:
                found = self._listed(path, excludes, gitignores)
            except OSError as error:
                yield PathProblem(path, f"cannot read: {error.strerror}", passed_over=path is not start)
            else:
                waiting += [(below, is_dir, gitignores) for below, is_dir in reversed(found)]
            yield from self._unread
            self._unread.clear()

    def leaves_out(self, path: Path, root: Path) -> bool:
        """Whether a walk from `root` would pass over a path, because of itself or of a folder it lies in."""
        here = Path(os.path.abspath(path))
        if any(map(is_passed_over, _folders(here, root))):
            return True
        if any(layer.hides(here) for layer in self.excludes):
            return True
        top = next((parent for parent in here.parents if os.path.exists(parent / ".git")), root)
        inside = [parent for parent in reversed(here.parents) if parent == top or top in parent.parents]
        gitignores = tuple(layer for folder in inside for layer in self._gitignore(folder))
        folders = _folders(here, top)
        return any(_hidden(each, each in folders, (), gitignores) for each in {*folders, here})

    def _listed(
        self, folder: Path, excludes: tuple[_Layer, ...], gitignores: tuple[_Layer, ...]
    ) -> list[tuple[Path, bool]]:
        """What is wanted of a folder, and whether each is a folder itself."""
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
        found: list[tuple[Path, bool]] = []
        for entry in entries:
            is_dir = _is_folder(entry)
            path = folder / entry.name
            wanted = not is_passed_over(path) if is_dir else self._is_wanted(entry) or self._adds(path)
            if wanted and _hidden(path, is_dir, excludes, gitignores):
                self.left_out.append(path)
            elif wanted:
                found.append((path, is_dir))
        return found

    def _adds(self, path: Path) -> bool:
        """Whether a file is one of those that are linted besides."""
        return (
            bool(self._included)
            and os.path.isfile(path)
            and any(layer.hides(Path(os.path.abspath(path))) for layer in self._included)
        )

    def _gitignores_above(self, folder: Path) -> tuple[_Layer, ...]:
        """The .gitignore files between the top of the folder's repository and the folder."""
        above = []
        for parent in (folder, *folder.parents):
            if parent != folder:
                above.append(parent)
            if os.path.exists(parent / ".git"):
                return tuple(layer for top in reversed(above) for layer in self._gitignore(top))
        return ()

    def _gitignore(self, folder: Path) -> tuple[_Layer, ...]:
        """The .gitignore file of a folder, if there is one that counts; each is read once."""
        if folder not in self._gitignores:
            self._gitignores[folder] = self._read_gitignore(folder / ".gitignore")
        return self._gitignores[folder]

    def _read_gitignore(self, path: Path) -> tuple[_Layer, ...]:
        if not self.respect_gitignore or not os.path.isfile(path):
            return ()
        try:
            text = files.read(path, LARGEST_GITIGNORE).decode("utf-8", "surrogateescape")
            return (_layer(path.parent, text.splitlines()),)
        except (OSError, patterns.TooMany) as error:  # git goes on without it, too
            why = error.strerror if isinstance(error, OSError) else str(error)
            self._unread.append(PathProblem(path, f"not read: {why}", passed_over=True))
            return ()


def _folders(path: Path, base: Path) -> list[Path]:
    """The folders below `base` that hold a path, and the path itself where it is one."""
    return [each for each in (*path.parents, *([path] if os.path.isdir(path) else ())) if base in each.parents]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_python_file(entry: os.DirEntry[str]) -> bool:
    return _is_file_called(lambda name: name.endswith((".py", ".ipynb")), entry)


def _is_file_called(wanted: Callable[[str], bool], entry: os.DirEntry[str]) -> bool:
    try:
        # An editor's lock file is a link that leads nowhere, so look at what a link leads to.
        return wanted(entry.name) and entry.is_file()
    except OSError:  # a link to itself
        return False


def _is_wanted_for_launches(entry: os.DirEntry[str]) -> bool:
    """Also files that are known for launch commands by their names or, without a suffix, by their first bytes."""
    if entry.name.endswith(".py"):
        return _is_python_file(entry)
    from trl_lint.launch.parsers.readers import front_end

    path = Path(entry.name)
    try:
        if front_end(path) is not None:
            return entry.is_file()
        if "." in entry.name or not entry.is_file():
            return False
        return front_end(path, files.head(entry.path, 200)) is not None
    except OSError:
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
