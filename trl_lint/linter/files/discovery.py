"""Which files a run lints: the named files, and the relevant ones below the named folders."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from trl_lint import files
from trl_lint.linter.files import patterns
from trl_lint.settings import ConfigError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# A pattern file is never larger than this.
LARGEST_GITIGNORE = 1_000_000
# The list of ruff, what flake8 adds, and where Unsloth writes the trainers that it generates as it runs.
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
        "unsloth_compiled_cache",
        "venv",
    }
)
# Those that a project may also use for a package of its own, such as one of helpers for `torch.distributed`.
_MAY_BE_PACKAGES = frozenset({"build", "dist"})


def is_passed_over(folder: Path) -> bool:
    """Whether a folder is always excluded: by name, unless it is a package in a folder usual for build output."""
    if folder.name not in DEFAULT_EXCLUDES:
        return False
    return folder.name not in _MAY_BE_PACKAGES or not os.path.isfile(folder / "__init__.py")


class PathProblem(NamedTuple):
    """A path that could not be processed, and why.

    passed_over: the user did not name it, and the rest of its folder is still processed.
    """

    path: Path
    message: str
    passed_over: bool = False


class _Layer(NamedTuple):
    """Patterns in gitignore syntax, and the folder they are relative to."""

    base: Path
    spec: GitIgnoreSpec

    def verdict(self, path: Path, is_dir: bool) -> bool | None:
        """True: ignored. False: a `!` pattern includes it again. None: no pattern matches it."""
        try:
            relative = path.relative_to(self.base).as_posix()
        except ValueError:
            return None
        return self.spec.check_file(relative + "/" * is_dir).include

    def hides(self, path: Path) -> bool:
        """Whether a path, or a folder that contains it, is ignored."""
        folders = _folders(path, self.base)
        return any(self.verdict(each, each in folders) for each in {*folders, path})

    def without(self, path: Path) -> _Layer:
        """The layer without its patterns that hide the folder `path`, which the user has named explicitly."""
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
    """The files to lint, in a stable order and each once, and the paths that could not be processed.

    left_out: a list that receives the files and folders that patterns hide.

    A named file is always included, unless `force_exclude` subjects it to the patterns too. Below a named folder, only
    Python files and notebooks are included, files that `include` (relative to `root`) names, with `launches` also files
    that may contain launch commands, or the files whose names `wanted` accepts; without those that `exclude` (relative
    to `root`), .gitignore files and the default excludes hide. Links to folders are not followed, so a loop of links
    ends.
    """
    seen: set[str] = set()
    included = _layers(root, include, "extend-include")
    walker = _Walker(_excludes(root, exclude), respect_gitignore, launches=launches, wanted=wanted, included=included)
    walker.left_out = [] if left_out is None else left_out
    for path in paths:
        if force_exclude and walker.would_skip(path, root or Path.cwd()):
            walker.left_out.append(path)
            continue
        for item in walker.walk(path) if os.path.isdir(path) else _named_file(path):
            key = os.path.abspath(item.path if isinstance(item, PathProblem) else item)
            if key not in seen:
                seen.add(key)
                yield item


def is_excluded(path: Path, *, root: Path | None, exclude: Sequence[str], respect_gitignore: bool = True) -> bool:
    """Whether a named file would be excluded if its project was searched."""
    return _Walker(_excludes(root, exclude), respect_gitignore).would_skip(path, root or Path.cwd())


def is_included(path: Path, root: Path | None, include: Sequence[str]) -> bool:
    """Whether a pattern of `extend-include` (relative to `root`) matches a file."""
    return bool(include) and matches(path, root=root, exclude=include)


def matches(path: Path, *, root: Path | None, exclude: Sequence[str]) -> bool:
    """Whether a pattern of `exclude` (relative to `root`) matches a file or a folder that contains it."""
    return any(layer.hides(Path(os.path.abspath(path))) for layer in _excludes(root, exclude))


def import_roots(root: Path | None, named: Iterable[Path]) -> tuple[Path, ...]:
    """Where imports of linted files are resolved: the project, its `src`, and the named folders.

    root: the project's folder; None if no settings file determines it; it then depends on the named files. The current
    directory does not matter, so that results are the same wherever a file is linted from.
    """
    paths = [Path(os.path.abspath(path)) for path in named]
    folders = [path if os.path.isdir(path) else path.parent for path in paths]
    top = Path(os.path.abspath(root or _project_around(folders or [Path.cwd()])))
    return tuple(dict.fromkeys((top, top / "src", *(path for path in paths if path in folders))))


def around_project(named: Iterable[Path], roots: Sequence[Path]) -> tuple[Path, ...]:
    """The named folders that contain the whole project: no relevant file is missing below them.

    roots: as returned by `import_roots`.
    """
    folders = [Path(os.path.abspath(path)) for path in named if os.path.isdir(path)]
    return tuple(each for each in folders if roots[0].is_relative_to(each))


# Marks of the top folder of a project; where there are none, as in an unpacked archive, those of a package.
_TOP_MARKS = ("pyproject.toml", ".git", ".hg")
_PACKAGE_MARKS = ("setup.py", "setup.cfg")


def is_in_project(path: Path) -> bool:
    """Whether a folder around a file is marked as the top of a project, or of a package."""
    return any(_has_any(each, (*_TOP_MARKS, *_PACKAGE_MARKS)) for each in path.parents)


def _project_around(folders: Sequence[Path]) -> Path:
    """The nearest project that contains all these folders; if there is none, their common folder."""
    shared = Path(os.path.commonpath(folders)) if len({folder.anchor for folder in folders}) == 1 else folders[0]
    start = folders[0] if shared == shared.parent else shared
    around = (start, *start.parents)
    marked = (each for marks in (_TOP_MARKS, _PACKAGE_MARKS) for each in around if _has_any(each, marks))
    return next(marked, start)


def _has_any(folder: Path, marks: Iterable[str]) -> bool:
    return any(os.path.exists(folder / mark) for mark in marks)


def names_project(folder: Path) -> bool:
    """Whether a folder declares what its code needs, as a project does."""
    return any(os.path.exists(folder / mark) for mark in files.PROJECT_MARKS)


def is_of_tests(folder: Path, top: Path) -> bool:
    """Whether a folder of a project is one of tests, or inside one."""
    if folder == top:
        return False
    from trl_lint.knowledge.heuristics import TEST_FOLDER

    return any(map(TEST_FOLDER.fits, folder.relative_to(top).parts))


def _named_file(path: Path) -> Iterator[Path | PathProblem]:
    try:
        found = path.stat()
    except OSError as error:
        yield PathProblem(path, (error.strerror or str(error)).lower())
    else:
        # A pipe or a device may have no end, or block its reader.
        yield path if stat.S_ISREG(found.st_mode) else PathProblem(path, "cannot read: not a regular file")


def _excludes(root: Path | None, exclude: Sequence[str]) -> tuple[_Layer, ...]:
    return _layers(root, exclude, "exclude")


def _layers(root: Path | None, lines: Sequence[str], key: str) -> tuple[_Layer, ...]:
    """The patterns of a setting, if any. key: the name of the setting."""
    try:
        return (_layer(root or Path.cwd(), lines),) if lines else ()
    except patterns.TooMany as error:
        raise ConfigError(f"{key}: {error}") from None


def _layer(base: Path, lines: Iterable[str]) -> _Layer:
    return _Layer(Path(os.path.abspath(base)), patterns.spec(lines))


class _Walker:
    """Walks folders and skips what is excluded."""

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
        # Paths that patterns hide.
        self.left_out: list[Path] = []
        # The .gitignore files that could not be read and have not been reported yet.
        self._unread: list[PathProblem] = []

    def walk(self, start: Path) -> Iterator[Path | PathProblem]:
        """Everything below a folder that the user named; no pattern can hide the folder itself."""
        absolute = Path(os.path.abspath(start))
        excludes = tuple(layer.without(absolute) for layer in self.excludes)
        above = tuple(layer.without(absolute) for layer in self._gitignores_above(absolute))
        # A stack, because folders may be nested deeper than calls can be.
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

    def would_skip(self, path: Path, root: Path) -> bool:
        """Whether a walk from `root` would skip a path, because of itself or a folder that contains it."""
        absolute = Path(os.path.abspath(path))
        if any(map(is_passed_over, _folders(absolute, root))):
            return True
        if any(layer.hides(absolute) for layer in self.excludes):
            return True
        top = next((parent for parent in absolute.parents if os.path.exists(parent / ".git")), root)
        inside = [parent for parent in reversed(absolute.parents) if parent == top or top in parent.parents]
        gitignores = tuple(layer for folder in inside for layer in self._gitignore(folder))
        folders = _folders(absolute, top)
        return any(_hidden(each, each in folders, (), gitignores) for each in {*folders, absolute})

    def _listed(
        self, folder: Path, excludes: tuple[_Layer, ...], gitignores: tuple[_Layer, ...]
    ) -> list[tuple[Path, bool]]:
        """The wanted entries of a folder, each with whether it is a folder."""
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
        found: list[tuple[Path, bool]] = []
        for entry in entries:
            is_dir = _is_folder(entry)
            path = folder / entry.name
            wanted = not is_passed_over(path) if is_dir else self._is_wanted(entry) or self._is_extra(path)
            if wanted and _hidden(path, is_dir, excludes, gitignores):
                self.left_out.append(path)
            elif wanted:
                found.append((path, is_dir))
        return found

    def _is_extra(self, path: Path) -> bool:
        """Whether a file is linted because `extend-include` names it."""
        return (
            bool(self._included)
            and os.path.isfile(path)
            and any(layer.hides(Path(os.path.abspath(path))) for layer in self._included)
        )

    def _gitignores_above(self, folder: Path) -> tuple[_Layer, ...]:
        """The .gitignore files from the top of the folder's repository down to its parent."""
        above = []
        for parent in (folder, *folder.parents):
            if parent != folder:
                above.append(parent)
            if os.path.exists(parent / ".git"):
                return tuple(layer for top in reversed(above) for layer in self._gitignore(top))
        return ()

    def _gitignore(self, folder: Path) -> tuple[_Layer, ...]:
        """The .gitignore file of a folder, if there is one that applies; each is read once."""
        if folder not in self._gitignores:
            self._gitignores[folder] = self._read_gitignore(folder / ".gitignore")
        return self._gitignores[folder]

    def _read_gitignore(self, path: Path) -> tuple[_Layer, ...]:
        if not self.respect_gitignore or not os.path.isfile(path):
            return ()
        try:
            text = files.read(path, LARGEST_GITIGNORE).decode("utf-8", "surrogateescape")
            return (_layer(path.parent, text.splitlines()),)
        except (OSError, patterns.TooMany) as error:  # git continues without it, too
            why = error.strerror if isinstance(error, OSError) else str(error)
            self._unread.append(PathProblem(path, f"not read: {why}", passed_over=True))
            return ()


def _folders(path: Path, base: Path) -> list[Path]:
    """The folders below `base` that contain a path, and the path itself if it is a folder."""
    if base not in path.parents:
        return []
    return [*takewhile(base.__ne__, path.parents), *([path] if os.path.isdir(path) else ())]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _is_python_file(entry: os.DirEntry[str]) -> bool:
    return _is_file_called(lambda name: name.endswith((".py", ".ipynb")), entry)


def _is_file_called(wanted: Callable[[str], bool], entry: os.DirEntry[str]) -> bool:
    try:
        # An editor's lock file is a dangling link, so check the target of a link.
        return wanted(entry.name) and entry.is_file()
    except OSError:  # a link to itself
        return False


def _is_wanted_for_launches(entry: os.DirEntry[str]) -> bool:
    """Accept also files that may contain launch commands, by name or, without a suffix, by their first bytes."""
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
    """Whether patterns exclude a path. Of the .gitignore files, the one nearest to the path decides."""
    if not excludes and not gitignores:
        return False
    absolute = Path(os.path.abspath(path))
    if any(layer.verdict(absolute, is_dir) for layer in excludes):
        return True
    verdicts = (layer.verdict(absolute, is_dir) for layer in reversed(gitignores))
    return bool(next((verdict for verdict in verdicts if verdict is not None), False))


def display_path(path: str | os.PathLike[str]) -> str:
    """A path as users read it: relative to the current directory if it is below it, otherwise absolute."""
    absolute = os.path.abspath(path)
    below = os.path.join(os.getcwd(), "")
    return absolute[len(below) :] if absolute.startswith(below) and absolute != below else absolute
