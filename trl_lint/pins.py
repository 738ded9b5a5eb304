"""The releases of trl and transformers that a project pins.

    requirements.txt     transformers==4.29.2
    pyproject.toml       dependencies = ["trl[peft] == 0.17.0"]
    environment.yml      - transformers=4.29.2

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
        for library, release in _PIN.findall(_COMMENT.sub(b"", text)):
            found.setdefault(library, set()).add(release)
    return {library.decode(): release.decode() for library, (release, *others) in found.items() if not others}
