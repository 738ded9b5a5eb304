"""Results kept on the disk between runs: where they lie, how they are written, and how many stay.

What a result is and when it still holds is no concern of this module; it keeps JSON under names. Nothing here may
fail: a folder that can't be written and an entry that can't be read mean that there is no result.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trl_lint.config import Settings

FOLDER = ".trl_lint_cache"
# The newest entries stay, as long as they are no more than this, and no more bytes than that.
MAX_ENTRIES = 64
MAX_BYTES = 32_000_000
# A temporary file that is older was left behind by a process that was killed.
STALE_SECONDS = 3600

_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder holds results of trl-lint. It can be deleted at any time.\n"
)


def folder_of(settings: Settings, given: Path | None = None) -> Path:
    """Where the results of a project lie.

    given: what the command line says. It counts more than TRL_LINT_CACHE_DIR, and that more than the settings.
    """
    root = settings.root or Path.cwd()
    named = given or os.environ.get("TRL_LINT_CACHE_DIR")
    if named:
        return Path(os.path.abspath(os.path.expanduser(named)))
    return Path(os.path.abspath(root / os.path.expanduser(settings.cache_dir or FOLDER)))


def is_off() -> bool:
    """Whether the environment asks for no cache."""
    return os.environ.get("TRL_LINT_NO_CACHE", "0") not in ("", "0")


def digest(content: bytes) -> str:
    """What stands for a content."""
    return hashlib.sha256(content).hexdigest()


class Cache:
    """The entries in one folder. Several processes may use it at once: each entry is replaced in one step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, name: str) -> Any:
        """The content of an entry; None when there is none, or none that is whole."""
        path = self._path(name)
        try:
            check, _, body = path.read_bytes().partition(b"\n")
            if json.loads(check) != digest(body):
                return None
            content = json.loads(body)
        except (OSError, ValueError, RecursionError):
            return None
        with suppress(OSError):
            os.utime(path)  # what is used stays
        return content

    def save(self, name: str, content: Any) -> None:
        """Keep a content, which must be fit for JSON, and drop what has become too much."""
        body = json.dumps(content, separators=(",", ":")).encode()
        with suppress(OSError):
            self._make_folder()
            self._write(name, f'"{digest(body)}"\n'.encode() + body)
            self._prune()

    def clear(self) -> None:
        """Remove all entries, and the folder if it was made for them."""
        with suppress(OSError):
            for path in (*self._files(".json"), *self._files(".tmp")):
                path.unlink(missing_ok=True)
            if (self.folder / "CACHEDIR.TAG").read_text(encoding="utf-8") == _TAG:
                for name in ("CACHEDIR.TAG", ".gitignore"):
                    (self.folder / name).unlink()
                self.folder.rmdir()

    def _path(self, name: str) -> Path:
        return self.folder / f"trl-lint-{name}.json"

    def _make_folder(self) -> None:
        """Make the folder, and mark it for those who make backups and commits; one of the user's stays as it is."""
        is_ours = self.folder.name == FOLDER or not self.folder.is_dir()
        self.folder.mkdir(parents=True, exist_ok=True)
        if is_ours and not (self.folder / "CACHEDIR.TAG").is_file():
            (self.folder / ".gitignore").write_text("# Made by trl-lint.\n*\n", encoding="utf-8")
            (self.folder / "CACHEDIR.TAG").write_text(_TAG, encoding="utf-8")

    def _write(self, name: str, content: bytes) -> None:
        handle, temporary = tempfile.mkstemp(dir=self.folder, prefix="trl-lint-", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(temporary, self._path(name))
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise

    def _prune(self) -> None:
        room = MAX_BYTES
        for index, (_, size, path) in enumerate(sorted(self._dated(".json"), reverse=True)):
            room -= size
            if index >= MAX_ENTRIES or room < 0:
                path.unlink(missing_ok=True)
        for changed, _, path in self._dated(".tmp"):
            if changed < time.time() - STALE_SECONDS:
                path.unlink(missing_ok=True)

    def _dated(self, ending: str) -> Iterator[tuple[float, int, Path]]:
        """When each of our files was changed, and its size. Other processes may remove files meanwhile."""
        for path in self._files(ending):
            with suppress(OSError):
                found = path.stat()
                yield found.st_mtime, found.st_size, path

    def _files(self, ending: str) -> list[Path]:
        """Our files; a folder that the user has named may hold others."""
        return [path for path in self.folder.iterdir() if path.name.startswith("trl-lint-") and path.suffix == ending]
