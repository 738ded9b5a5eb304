"""What launches have read from the disk: whether a file or a folder exists, and the contents of files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from trl_lint import files


class Disk:
    """Recorded lookups: a result holds as long as they do.

    overlay: contents that replace those on the disk. exists: by path, whether there is a file. contents: of the files
    that were read, None for an unreadable one.
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
        """The contents of a file; None if it can't be read, or is larger than `limit` bytes."""
        if path in self.overlay:
            return self.overlay[path]
        try:
            self.contents[path] = files.read(path, limit)
        except (OSError, ValueError):
            self.contents[path] = None
        return self.contents[path]
