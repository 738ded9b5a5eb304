"""Writing a mended file back: whole or not at all, and still the same file.

A file is replaced in one step, by another one that takes over its mode, owner and attributes: whatever happens, what
lies there is the old text or the new one. A file that has a second name (a hard link) and one whose owner or attributes
can't be handed on would become another file by that, so it is written in place; there only a crash of the machine or a
kill -9 in between leaves a part of it.
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
# Why nothing is written: the user has saved the file in between.
CHANGED = "the file has changed since it was read"


class _NotTheSame(Exception):
    """A file can't be replaced by one that has the same owner and attributes."""


def write_back(
    path: Path, before: bytes, after: bytes, roots: Sequence[Path] = (), failure: str = "not fixed"
) -> str | None:
    """Give a file new content if it still has what was read; else say why not.

    roots: the folders of the project, out of which no link is followed. failure: what has not been done then.
    """
    target = Path(os.path.realpath(path))
    try:
        reason = _forbidden(path, target, roots) or _written(target, before, after)
    except OSError as error:
        reason = f"cannot write: {error.strerror}"
    return f"{display_path(path)}: {failure}: {reason}" if reason else None


def write_whole(path: Path, content: bytes) -> str | None:
    """Make a file of our own, or give it new content; else say why not."""
    try:
        before = path.read_bytes()
    except FileNotFoundError:
        return _made(path, content)
    except OSError as error:
        return f"{display_path(path)}: not written: {error.strerror}"
    return write_back(path, before, content, (), "not written") if before != content else None


def _made(path: Path, content: bytes) -> str | None:
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
    """Give a file this content, whatever it had or whether there was one; else say why not.

    What is no regular file (a pipe, a device) gets it as it is.
    """
    try:
        found = os.stat(path) if os.path.exists(path) else None
        if found is not None and not stat.S_ISREG(found.st_mode):
            path.write_bytes(content)
            return None
        target = Path(os.path.realpath(path))
        if found is None:
            reason = _created(target, content)
        elif found.st_mode & 0o222:
            reason = _written(target, target.read_bytes(), content)
        else:
            reason = "the file is read-only"
    except OSError as error:
        reason = error.strerror or str(error)
    return f"{display_path(path)}: cannot write: {reason}" if reason else None


def _forbidden(path: Path, target: Path, roots: Sequence[Path]) -> str:
    """Why a file is not to be written, or ""."""
    inside = any(path.is_relative_to(root) for root in roots)
    stays = any(target.is_relative_to(os.path.realpath(root)) for root in roots)
    if (inside or os.path.islink(path)) and roots and not stays:
        return f"it is a link to {display_path(target)}, outside of the project"
    found = target.stat()
    if not stat.S_ISREG(found.st_mode):
        return "it is not a regular file"
    # Who may do anything (root) is told by the mode only.
    if not found.st_mode & 0o222 or not os.access(target, os.W_OK):
        return "the file is read-only"
    return ""


def _written(target: Path, before: bytes, after: bytes) -> str:
    """Write a file; why that was not done, or ""."""
    if target.stat().st_nlink == 1:
        with suppress(_NotTheSame):
            return _replaced(target, before, after)
    return _overwritten(target, before, after)


def _replaced(target: Path, before: bytes, after: bytes) -> str:
    """Put another file in the place of this one, if it still has what was read; why not, or "".

    Raises:
        _NotTheSame: the other file would have another owner, or lack attributes.
    """
    with _temporary(target) as temporary:
        with os.fdopen(os.open(temporary, _NEW, 0o600), "wb") as file:
            file.write(after)
            file.flush()
            _take_over(target, temporary)
            os.fsync(file.fileno())
        if target.read_bytes() != before:
            return CHANGED
        os.replace(temporary, target)
    return ""


def _created(target: Path, content: bytes) -> str:
    """Write a file that is not there yet; see `_replaced`."""
    with _temporary(target) as temporary:
        with os.fdopen(os.open(temporary, _NEW, 0o666), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    return ""


@contextmanager
def _temporary(target: Path) -> Iterator[Path]:
    """The path of a file beside another one, which is gone afterwards, however the process ends."""
    # Its own name may leave no room for a longer one.
    temporary = target.parent / f".trl-lint-{os.urandom(8).hex()}.tmp"
    ending.unfinished.add(str(temporary))
    try:
        yield temporary
    finally:
        with suppress(OSError):
            os.unlink(temporary)
        ending.unfinished.discard(str(temporary))


def _take_over(target: Path, temporary: Path) -> None:
    """Give a new file what the one that it replaces has besides its content."""
    old, new = target.stat(), temporary.stat()
    try:
        if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
            os.chown(temporary, old.st_uid, old.st_gid)
        for name, value in _attributes(target).items() - _attributes(temporary).items():
            os.setxattr(temporary, name, value)
        os.chmod(temporary, stat.S_IMODE(old.st_mode))  # last: a change of the owner takes bits away
    except OSError as error:
        raise _NotTheSame from error


def _attributes(path: Path) -> dict[str, bytes]:
    """The extended attributes of a file, where the system knows such."""
    try:
        return {name: os.getxattr(path, name) for name in os.listxattr(path)}
    except (AttributeError, OSError):
        return {}


def _overwritten(target: Path, before: bytes, after: bytes) -> str:
    """Write a file in place, if it still has what was read; why not, or ""."""
    with open(target, "r+b", buffering=0) as file, _undisturbed():
        if file.read() != before:
            return CHANGED
        try:
            _put(file.fileno(), after)
        except OSError:
            _put(file.fileno(), before)  # a full disk: there was room for this
            raise
    return ""


def _put(handle: int, content: bytes) -> None:
    os.lseek(handle, 0, os.SEEK_SET)
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]
    os.ftruncate(handle, len(content))
    os.fsync(handle)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep signals that would end the process waiting."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    masked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, masked)
