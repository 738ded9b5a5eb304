"""Write a fixed file back: completely or not at all, and still as the same file.

A file is replaced in one step by another one that gets its mode, owner and attributes: whatever happens, the path has
the old text or the new one. A file with a second name (a hard link), or whose owner or attributes can't be copied,
would become another file that way, so it is written in place; only a crash of the machine or a kill -9 at that moment
leaves it incomplete.
"""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from trl_lint.linter import ending
from trl_lint.linter.files.discovery import display_path

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
# Why nothing is written: the user has saved the file meanwhile.
CHANGED = "the file has changed since it was read"


class _NotTheSame(Exception):
    """A file can't be replaced by one that has the same owner and attributes."""


def write_back(
    path: Path, before: bytes, after: bytes, roots: Sequence[Path] = (), failure: str = "not fixed"
) -> str | None:
    """Write new content to a file if it still has the content that was read; otherwise return why not.

    roots: the folders of the project; links out of them are not followed. failure: what has then not been done.
    """
    target = Path(os.path.realpath(path))
    try:
        reason = _reason_against(path, target, roots) or _write_to(target, before, after)
    except OSError as error:
        reason = f"cannot write: {error.strerror}"
    return f"{display_path(path)}: {failure}: {reason}" if reason else None


def write_whole(path: Path, content: bytes) -> str | None:
    """Create or rewrite a file of the tool's own; return why that failed, or None."""
    try:
        before = path.read_bytes()
    except FileNotFoundError:
        return _create_or_rewrite(path, content)
    except OSError as error:
        return f"{display_path(path)}: not written: {error.strerror}"
    return write_back(path, before, content, (), "not written") if before != content else None


def _create_or_rewrite(path: Path, content: bytes) -> str | None:
    temporary = path.parent / f".trl-lint-{os.urandom(8).hex()}.tmp"
    ending.unfinished.add(str(temporary))
    try:
        with os.fdopen(os.open(temporary, _NEW, 0o666), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        return f"{display_path(path)}: not written: {error.strerror}"
    finally:
        with suppress(OSError):
            os.unlink(temporary)
        ending.unfinished.discard(str(temporary))
    return None


def write(path: Path, content: bytes) -> str | None:
    """Write this content to a file, whatever it had or whether it existed; return why that failed, or None.

    What is not a regular file (a pipe, a device) is written to directly.
    """
    try:
        found = os.stat(path) if os.path.exists(path) else None
        if found is not None and not stat.S_ISREG(found.st_mode):
            path.write_bytes(content)
            return None
        target = Path(os.path.realpath(path))
        if found is None:
            reason = _create(target, content)
        elif found.st_mode & 0o222:
            reason = _write_to(target, target.read_bytes(), content)
        else:
            reason = "the file is read-only"
    except OSError as error:
        reason = error.strerror or str(error)
    return f"{display_path(path)}: cannot write: {reason}" if reason else None


def _reason_against(path: Path, target: Path, roots: Sequence[Path]) -> str:
    """Why a file must not be written, or ""."""
    inside = any(path.is_relative_to(root) for root in roots)
    target_inside = any(target.is_relative_to(os.path.realpath(root)) for root in roots)
    if (inside or os.path.islink(path)) and roots and not target_inside:
        return f"it is a link to {display_path(target)}, outside of the project"
    found = target.stat()
    if not stat.S_ISREG(found.st_mode):
        return "it is not a regular file"
    # For root, `access` allows everything, so the mode counts.
    if not found.st_mode & 0o222 or not os.access(target, os.W_OK):
        return "the file is read-only"
    return ""


def _write_to(target: Path, before: bytes, after: bytes) -> str:
    """Write a file; return why that was not done, or ""."""
    if target.stat().st_nlink == 1:
        with suppress(_NotTheSame):
            return _replace(target, before, after)
    return _overwrite(target, before, after)


def _replace(target: Path, before: bytes, after: bytes) -> str:
    """Replace a file by a new one if it still has the content that was read; return why not, or "".

    Raises:
        _NotTheSame: the new file would have another owner, or lack attributes.
    """
    with _temporary(target) as temporary:
        with os.fdopen(os.open(temporary, _NEW, 0o600), "wb") as file:
            file.write(after)
            file.flush()
            _copy_metadata(target, temporary)
            os.fsync(file.fileno())
        if target.read_bytes() != before:
            return CHANGED
        os.replace(temporary, target)
    return ""


def _create(target: Path, content: bytes) -> str:
    """Write a file that does not exist yet; see `_replace`."""
    with _temporary(target) as temporary:
        with os.fdopen(os.open(temporary, _NEW, 0o666), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    return ""


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """The path of a temporary file next to another one; it is removed however the process ends."""
    # The target's name may leave no room for a longer one.
    temporary = target.parent / f".trl-lint-{os.urandom(8).hex()}.tmp"
    ending.unfinished.add(str(temporary))
    try:
        yield temporary
    finally:
        with suppress(OSError):
            os.unlink(temporary)
        ending.unfinished.discard(str(temporary))


def _copy_metadata(target: Path, temporary: Path) -> None:
    """Copy owner, attributes and mode to the new file."""
    old, new = target.stat(), temporary.stat()
    try:
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            os.chown(temporary, old.st_uid, old.st_gid)
        for name, value in _attributes(target).items() - _attributes(temporary).items():
            os.setxattr(temporary, name, value)
        os.chmod(temporary, stat.S_IMODE(old.st_mode))  # last: changing the owner clears some mode bits
    except OSError as error:
        raise _NotTheSame from error


def _attributes(path: Path) -> dict[str, bytes]:
    """The extended attributes of a file, if the system supports them."""
    try:
        return {name: os.getxattr(path, name) for name in os.listxattr(path)}
    except (AttributeError, OSError):
        return {}


def _overwrite(target: Path, before: bytes, after: bytes) -> str:
    """Write a file in place if it still has the content that was read; return why not, or ""."""
    with open(target, "r+b", buffering=0) as file, _defer_signals():
        if file.read() != before:
            return CHANGED
        try:
            _write_all(file.fileno(), after)
        except OSError:
            _write_all(file.fileno(), before)  # the disk is full, but there was room for this
            raise
    return ""


def _write_all(handle: int, content: bytes) -> None:
    os.lseek(handle, 0, os.SEEK_SET)
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]
    os.ftruncate(handle, len(content))
    os.fsync(handle)


@contextmanager
def _defer_signals() -> Iterator[None]:
    """Defer signals that would end the process."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
