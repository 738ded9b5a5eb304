"""Commits of public code bases: the files of a commit that trl-lint reads, written out once, outside the tree.

They come from bare mirrors, `<mirrors>/<owner>+<name>/` (the git directory is that folder or one in it), otherwise from
a clone of GitHub, which is in the cache of `releases.py`, with the files. Nothing of it is run.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from evaluation.releases import cache_dir
from trl_lint.files import PROJECT_MARKS
from trl_lint.launch.judge.engines import of_file
from trl_lint.launch.parsers import readers

# What the linter reads in addition to files that can start Python (`readers`): code, and project declarations.
SUFFIXES = frozenset((".py", ".pyi", ".pyw", ".toml", ".cfg"))
# Files that may name the engine with which a project is trained; most of them are data.
_CONFIGURATIONS = frozenset((".json",))
# Where the git directory of a mirror may be, in its folder.
GIT_DIRECTORIES = (".", "repo", ".git", "repo/.git")
# The modes of plain files: neither a link nor another repository.
PLAIN = ("100644", "100755", "100664")
GITHUB = "https://github.com"


class NotToBeHad(Exception):
    """A commit is in no mirror and can't be cloned. Its text says why, in one line."""


@dataclass(frozen=True, order=True)
class Checkout:
    """One commit of one repository."""

    repository: str
    commit: str

    def __str__(self) -> str:
        return f"{self.repository} at {self.commit[:10]}"

    @property
    def name(self) -> str:
        """`owner+name`, the name of the mirror."""
        return self.repository.replace("/", "+")


def tree_of(checkout: Checkout, mirrors: Path | None) -> Path:
    """The folder with the files of a commit.

    Raises:
        NotToBeHad: no available git directory has the commit, or there is none.
    """
    target = cache_dir() / "checkouts" / f"{checkout.name}-{checkout.commit}"
    if not target.is_dir():
        write(files_of(_git_directory(checkout, mirrors), checkout.commit), target)
    return target


def write(files: Iterable[tuple[str, bytes]], target: Path) -> None:
    """Write files below a folder, which appears only once it is complete."""
    target.parent.mkdir(parents=True, exist_ok=True)
    half = Path(tempfile.mkdtemp(prefix=".writing-", dir=target.parent))
    try:
        for name, data in files:
            path = half / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        half.rename(target)
    finally:
        shutil.rmtree(half, ignore_errors=True)


def files_of(git_directory: Path, commit: str) -> Iterator[tuple[str, bytes]]:
    """The files of a commit that the linter reads, each with its content.

    Mirrors may lack their largest files. A missing notebook or README is skipped.

    Raises:
        NotToBeHad: the git directory lacks the commit or its code.
    """
    entries = [entry for entry in _entries(git_directory, commit) if _may_matter(entry[0])]
    names = [name for _, name in entries]
    if git_directory.is_relative_to(_clones()):
        _bring(git_directory, names)
    contents = _contents(git_directory, names)
    for (path, _), data in zip(entries, contents, strict=True):
        if data is None and _suffix(path) in SUFFIXES:
            raise NotToBeHad(f"{git_directory} lacks {path}")
        if data is not None and _is_looked_at(path, data):
            yield path, data


def _is_looked_at(path: str, data: bytes) -> bool:
    if _suffix(path) in _CONFIGURATIONS:
        return bool(of_file(PurePosixPath(path), data).engines)
    return _suffix(path) in SUFFIXES or _is_mark(path) or readers.front_end(PurePosixPath(path), data[:200]) is not None


def _is_mark(path: str) -> bool:
    return PurePosixPath(path).name in PROJECT_MARKS


def _suffix(path: str) -> str:
    return PurePosixPath(path).suffix.lower()


def _may_matter(path: str) -> bool:
    """Whether the linter reads a file of this name; a file without a suffix may say so in its first line."""
    inside = not path.startswith("/") and ".." not in PurePosixPath(path).parts
    return inside and (
        _suffix(path) in {"", *SUFFIXES, *_CONFIGURATIONS}
        or _is_mark(path)
        or readers.front_end(PurePosixPath(path)) is not None
    )


def _entries(git_directory: Path, commit: str) -> Iterator[tuple[str, str]]:
    """Path and object name of each plain file of a commit."""
    for entry in _git(git_directory, "ls-tree", "-r", "-z", commit).split(b"\0")[:-1]:
        said, _, path = entry.partition(b"\t")
        mode, _, name = said.decode().split()
        if mode in PLAIN:
            yield path.decode("utf-8", "replace"), name


def _contents(git_directory: Path, names: list[str]) -> Iterator[bytes | None]:
    """The contents of some objects in order (in the format of `git cat-file --batch`); None if missing."""
    said = _git(git_directory, "cat-file", "--batch", asked="\n".join([*names, ""]).encode())
    place = 0
    for _ in names:
        end = said.index(b"\n", place)
        kind, _, size = said[place:end].split(b" ", 1)[1].partition(b" ")
        place = end + 1
        if kind != b"blob":
            yield None
            continue
        yield said[place : place + int(size)]
        place += int(size) + 1


def _git_directory(checkout: Checkout, mirrors: Path | None) -> Path:
    """The git directory that has the commit: a mirror, otherwise a clone.

    Raises:
        NotToBeHad: there is none, or it lacks the commit.
    """
    found = _mirror(checkout, mirrors) if mirrors else None
    found = found or _clone(checkout)
    try:
        _git(found, "cat-file", "-e", f"{checkout.commit}^{{commit}}")
    except NotToBeHad as error:
        raise NotToBeHad(f"{found} lacks the commit") from error
    return found


def _mirror(checkout: Checkout, mirrors: Path) -> Path | None:
    around = mirrors / checkout.name
    return next((around / each for each in GIT_DIRECTORIES if (around / each / "HEAD").is_file()), None)


def _clones() -> Path:
    return cache_dir() / "clones"


def _bring(clone: Path, names: list[str]) -> None:
    """Fetch the contents of some files together. Git would fetch them one by one on demand."""
    options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--filter=blob:none", "--stdin")
    _git(clone, "fetch", *options, "origin", asked="\n".join([*names, ""]).encode())


def _clone(checkout: Checkout) -> Path:
    """A clone without the contents of its files."""
    target = _clones() / f"{checkout.name}.git"
    if not target.is_dir():
        target.parent.mkdir(parents=True, exist_ok=True)
        half = Path(tempfile.mkdtemp(prefix=".cloning-", dir=target.parent))
        try:
            url = f"{GITHUB}/{checkout.repository}"
            _run(["git", "clone", "--quiet", "--bare", "--filter=blob:none", url, str(half / "git")])
            (half / "git").rename(target)
        finally:
            shutil.rmtree(half, ignore_errors=True)
    return target


def _git(git_directory: Path, *arguments: str, asked: bytes = b"") -> bytes:
    return _run(["git", f"--git-dir={git_directory}", *arguments], asked)


def _run(command: list[str], asked: bytes = b"") -> bytes:
    """The output of a command.

    Raises:
        NotToBeHad: it failed.
    """
    done = subprocess.run(command, input=asked, capture_output=True, check=False)
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or ["git said nothing"]
        raise NotToBeHad(lines[-1])
    return done.stdout
