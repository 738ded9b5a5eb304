"""The releases of trl and transformers that a project pins, and which of four ages of pytorch_lightning.

    requirements.txt     transformers==4.29.2
    pyproject.toml       dependencies = ["trl[peft] == 0.17.0"]
    environment.yml      - transformers=4.29.2
    setup.cfg            pytorch-lightning>=1.6,<2.0

The nearest folder with such a file counts: `requirements-train.txt` and `requirements/train.txt` are such files, too.
If its files pin no release of a library, those of the folders in it do, two levels down. If files pin two releases of
one library, neither is known.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from trl_lint import files

_FILES = frozenset({"environment.yaml", "environment.yml", "pyproject.toml", "setup.cfg", "setup.py"})
_LISTS = re.compile(r"(?i)requirements?(?:[-_.].*)?\.txt")
# Folders whose files list requirements, whatever they are called.
_FOLDERS_OF_LISTS = frozenset({"requirements"})
_LARGEST = 1_000_000
# A project in a project is this many folders down at most, and of a folder with more than so many none is searched.
_DEEPEST, _MOST_FOLDERS = 2, 200
_COMMENT = re.compile(rb"#[^\n]*")
# Conda's `=` is that of pip's `==`; `==4.29.*` is no release.
_PIN = re.compile(rb"(?<![\w./-])(trl|transformers)(?:\[[^\]\n]*\])?[ \t]*={1,3}[ \t]*v?(\d+(?:\.\d+)+)(?![\w.*+-])")
# A requirement of pytorch_lightning, and the age of the releases that it leaves: before 0.8, one of 1.4 to 1.6, another
# one before 2.0 (`==1.9.5`, `~=1.8`, `<2`, poetry's `= "^1.6"`), or a newer one (`==2.2.4`, `>=2.0`).
_LIGHTNING = re.compile(
    rb"(?i)(?<![\w./-])pytorch[-_]lightning(?:\[[^\]\n]*\])?[\"']?[ \t]*(?:=[ \t]*[\"'])?([<>=!~^\d.*, \t]*)"
)
_AGES = {
    b"0": re.compile(rb"(?:(?<![<>!~=])={1,3}|~=|\^|^)[ \t]*0\.[0-7](?!\d)"),
    b"1.6": re.compile(rb"(?:(?<![<>!~=])={1,3}[ \t]*1\.[4-6](?!\d)|~=[ \t]*1\.[4-6]\.\d)"),
    b"1": re.compile(rb"(?:(?<![<>!~=])={1,3}|~=|<=?|\^|^)[ \t]*[01]\.\d|<[ \t]*2(?:\.0)*(?![\d.])"),
    b"2": re.compile(rb"(?:[=>~]=?=?|\^|^)[ \t]*[2-9]\b"),
}

# Those that are a part of the next one, too, by what is asked.
_NARROW = ([b"0"], [b"1.6"])


def pinned_releases(start: Path) -> dict[str, str]:
    """The release of each library that the project around a file or folder pins."""
    for folder in (start, *start.parents):
        present, folders = _listed(folder)
        if present:
            return _of(_below(folders)) | _of(present)
        if os.path.exists(folder / ".git"):
            break
    return {}


def _listed(folder: Path) -> tuple[list[Path], list[Path]]:
    """The files of a folder that may pin releases, and the folders in it."""
    present, folders = [], []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                elif _may_pin(entry.name, folder) and entry.is_file():
                    present.append(Path(entry.path))
    except OSError:
        return [], []
    for lists in (each for each in folders if each.name in _FOLDERS_OF_LISTS):
        present += _listed(lists)[0]
    return present, [each for each in folders if not each.name.startswith(".") and each.name not in _FOLDERS_OF_LISTS]


def _may_pin(name: str, folder: Path) -> bool:
    is_listed = folder.name in _FOLDERS_OF_LISTS and name.endswith(".txt")
    return name in _FILES or is_listed or _LISTS.fullmatch(name) is not None


def _below(folders: list[Path], depth: int = 1) -> list[Path]:
    """The files that may pin releases in these folders, and in those in them."""
    found: list[Path] = []
    if len(folders) <= _MOST_FOLDERS:
        for folder in folders:
            present, inner = _listed(folder)
            found += present
            if depth < _DEEPEST:
                found += _below(inner, depth + 1)
    return found


def _of(paths: list[Path]) -> dict[str, str]:
    found: dict[bytes, set[bytes]] = {}
    for path in paths:
        try:
            text = files.read(path, _LARGEST)
        except OSError:
            continue
        text = _COMMENT.sub(b"", text)
        for library, release in _PIN.findall(text):
            found.setdefault(library, set()).add(release)
        for asked in _LIGHTNING.findall(text):
            ages = [age for age, leaves in _AGES.items() if leaves.search(asked)]
            found.setdefault(b"pytorch_lightning", set()).update(ages[:1] if ages[:1] in _NARROW else ages)
    if found.get(b"pytorch_lightning") == {b"1", b"1.6"}:
        found[b"pytorch_lightning"] = {b"1"}
    return {
        library.decode(): release.decode()
        for library, releases in found.items()
        if len(releases) == 1
        for release in releases
    }
