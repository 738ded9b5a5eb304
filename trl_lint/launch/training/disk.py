"""What launches have asked the disk: whether a file or a folder is at a path, and what is in a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from trl_lint import files


class Disk:
    """Answers, each noted down: an outcome holds as long as these do.

    overlay: contents that stand in for what is on the disk. exists: by path, whether there is a file. contents: of the
    files that were read, None for one that can't be.
    """

    def __init__(self, overlay: Mapping[Path, bytes] | None = None) -> None:
        self.overlay = overlay or {}
        self.exists: dict[Path, bool] = {}
        self.contents: dict[Path, bytes | None] = {}

    def has_file(self, path: Path) -> bool:
        found = self.exists.get(path)
        if found is None:
            found = self.exists[path] = os.path.isfile(path)
        return found

    def has_folder(self, path: Path) -> bool:
        is_folder = os.path.isdir(path)
        self.exists[path] = not is_folder and os.path.isfile(path)
        return is_folder

    def read(self, path: Path, limit: int) -> bytes | None:
        """What is in a file; None where it can't be read, or is larger than `limit` bytes."""
        if path in self.overlay:
            return self.overlay[path]
        try:
            self.contents[path] = files.read(path, limit)
        except (OSError, ValueError):
            self.contents[path] = None
        return self.contents[path]
