"""The releases of trl and transformers that a project pins, and whether pytorch_lightning is one before 0.8 or 2.0.

    requirements.txt     transformers==4.29.2
    pyproject.toml       dependencies = ["trl[peft] == 0.17.0"]
    environment.yml      - transformers=4.29.2
    setup.cfg            pytorch-lightning>=1.6,<2.0

The nearest folder with such a file counts. If its files pin two releases of one library, neither is known.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from trl_lint import files

_FILES = ("environment.yaml", "environment.yml", "pyproject.toml", "requirements.txt", "setup.cfg", "setup.py")
_LARGEST = 1_000_000
_COMMENT = re.compile(rb"#[^\n]*")
# Conda's `=` is that of pip's `==`; `==4.29.*` is no release.
_PIN = re.compile(rb"(?<![\w./-])(trl|transformers)(?:\[[^\]\n]*\])?[ \t]*={1,3}[ \t]*v?(\d+(?:\.\d+)+)(?![\w.*+-])")
# A requirement of pytorch_lightning, and the first number of the releases that it leaves: `==1.9.5`, `~=1.8`, `<2`,
# `= "^1.6"` (poetry); `==2.2.4`, `>=2.0`.
_LIGHTNING = re.compile(
    rb"(?i)(?<![\w./-])pytorch[-_]lightning(?:\[[^\]\n]*\])?[\"']?[ \t]*(?:=[ \t]*[\"'])?([<>=!~^\d.*, \t]*)"
)
_MAJORS = {
    b"0": re.compile(rb"(?:(?<![<>!~=])={1,3}|~=|\^|^)[ \t]*0\.[0-7](?!\d)"),
    b"1": re.compile(rb"(?:(?<![<>!~=])={1,3}|~=|<=?|\^|^)[ \t]*[01]\.\d|<[ \t]*2(?:\.0)*(?![\d.])"),
    b"2": re.compile(rb"(?:[=>~]=?=?|\^|^)[ \t]*[2-9]\b"),
}


def pinned_releases(start: Path) -> dict[str, str]:
    """The release of each library that the project around a file or folder pins."""
    for folder in (start, *start.parents):
        present = [path for name in _FILES if os.path.isfile(path := folder / name)]
        if present:
            return _of(present)
        if os.path.exists(folder / ".git"):
            break
    return {}


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
            majors = {major for major, leaves in _MAJORS.items() if leaves.search(asked)}
            found.setdefault(b"pytorch_lightning", set()).update({b"0"} if b"0" in majors else majors)
    return {
        library.decode(): release.decode()
        for library, releases in found.items()
        if len(releases) == 1
        for release in releases
    }
