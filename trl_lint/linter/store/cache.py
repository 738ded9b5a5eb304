"""Results stored on disk between runs: where they are, how they are written, and how many are kept.

What a result is and when it is valid is decided elsewhere; this module stores JSON under names. Nothing here may fail:
a folder that can't be written and an entry that can't be read mean that there is no result.

The folder is in a tree that someone else may have created, including links and pipes: nothing is written through a
link, only the tool's own entries are overwritten, and a folder that the project links to elsewhere is not used.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint import files

if TYPE_CHECKING:
    from trl_lint.settings import Settings

FOLDER = ".trl_lint_cache"
# The newest entries are kept, up to this number and this many bytes.
MAX_ENTRIES = 128
MAX_BYTES = 32_000_000
# An older temporary file was left behind by a process that was killed.
STALE_SECONDS = 3600

_IGNORED = "# Made by trl-lint.\n*\n"
_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder holds results of trl-lint. It can be deleted at any time.\n"
)


def folder_of(settings: Settings, from_command_line: Path | None = None) -> Path:
    """Where the results of a project are stored.

    from_command_line: the value from the command line. It overrides TRL_LINT_CACHE_DIR, which overrides the settings.
    """
    root = settings.root or Path.cwd()
    named = from_command_line or os.environ.get("TRL_LINT_CACHE_DIR")
    if named:
        return Path(os.path.abspath(os.path.expanduser(named)))
    return Path(os.path.abspath(root / os.path.expanduser(settings.cache_dir or FOLDER)))


def is_off() -> bool:
    """Whether the environment disables the cache."""
    return os.environ.get("TRL_LINT_NO_CACHE", "0") not in ("", "0")


def digest(content: bytes) -> str:
    """The digest of a content."""
    return hashlib.sha256(content).hexdigest()


def of(settings: Settings, from_command_line: Path | None = None) -> Cache | None:
    """The stored results of a project; None if its cache folder is a link to somewhere else.

    A folder that the user named (`from_command_line`, TRL_LINT_CACHE_DIR) may be anywhere.
    """
    folder = folder_of(settings, from_command_line)
    if from_command_line or os.environ.get("TRL_LINT_CACHE_DIR"):
        return Cache(folder)
    return None if _is_link_outside(folder, settings.root or Path.cwd()) else Cache(folder)


def _is_link_outside(folder: Path, root: Path) -> bool:
    root = Path(os.path.abspath(root))
    if folder.is_relative_to(root):
        return os.path.realpath(folder) != os.path.join(os.path.realpath(root), folder.relative_to(root))
    return os.path.islink(folder)


class Cache:
    """The entries in one folder. Several processes may use it at once: each entry is replaced in one step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def load(self, name: str) -> object:
        """The content of an entry; None if there is none, or if it is damaged."""
        path = self._path(name)
        try:
            check, _, body = files.read(path, MAX_BYTES, follow=False).partition(b"\n")
            if json.loads(check) != digest(body):
                return None
            content: object = json.loads(body)
        except (OSError, ValueError, RecursionError):
            return None
        with suppress(OSError):
            os.utime(path)  # entries in use are kept
        return content

    def save(self, name: str, content: object) -> None:
        """Store a content, which must be valid JSON, and drop old entries beyond the limits."""
        body = json.dumps(content, separators=(",", ":")).encode()
        with suppress(OSError):
            self._make_folder()
            self._write(name, f'"{digest(body)}"\n'.encode() + body)
            self._prune()

    def clear(self) -> None:
        """Remove all entries, and the folder if the tool created it."""
        with suppress(OSError):
            for path in (*self._files(".json"), *self._files(".tmp")):
                _remove(path)
            if self._has("CACHEDIR.TAG", _TAG):
                _remove(self.folder / "CACHEDIR.TAG")
                if self._has(".gitignore", _IGNORED):
                    _remove(self.folder / ".gitignore")
                self.folder.rmdir()

    def _path(self, name: str) -> Path:
        return self.folder / f"trl-lint-{name}.json"

    def _has(self, name: str, text: str) -> bool:
        """Whether a file of the folder has this text, as the tool writes it."""
        try:
            return files.read(self.folder / name, len(text), follow=False) == text.encode()
        except OSError:
            return False

    def _make_folder(self) -> None:
        """Create the folder, and mark it for backup tools and git; a folder of the user's stays as it is."""
        is_ours = self.folder.name == FOLDER or not os.path.isdir(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        if is_ours and not os.path.lexists(self.folder / "CACHEDIR.TAG"):
            _make(self.folder / ".gitignore", _IGNORED)
            _make(self.folder / "CACHEDIR.TAG", _TAG)

    def _write(self, name: str, content: bytes) -> None:
        import tempfile

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
                _remove(path)
        for changed, _, path in self._dated(".tmp"):
            if changed < time.time() - STALE_SECONDS:
                _remove(path)

    def _dated(self, ending: str) -> Iterator[tuple[float, int, Path]]:
        """The modification time and size of the tool's files. Other processes may remove files meanwhile."""
        for path in self._files(ending):
            with suppress(OSError):
                found = path.lstat()
                yield found.st_mtime, found.st_size, path

    def _files(self, ending: str) -> list[Path]:
        """The tool's files; a folder that the user named may contain others."""
        return [path for path in self.folder.iterdir() if path.name.startswith("trl-lint-") and path.suffix == ending]


def _make(path: Path, text: str) -> None:
    """Write a file that does not exist yet; whatever exists, even a link, stays."""
    with suppress(FileExistsError), open(path, "xb") as file:
        try:
            file.write(text.encode())
            file.flush()
        except BaseException:  # a full disk
            _remove(path)
            raise


def _remove(path: Path) -> None:
    """Remove an entry; anything else, such as a folder of that name, stays."""
    with suppress(OSError):
        path.unlink(missing_ok=True)
