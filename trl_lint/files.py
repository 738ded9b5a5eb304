"""Reading what lies on the disk, whoever put it there.

Links and names in a linted tree may lead anywhere, and what is there may be a pipe, a device, or without end. A path
that can't be looked at is no file and no folder: `os.path.isfile` says so, where `Path.is_file` raises for a name that
is too long or a folder without permission. What is read is a regular file of bounded size.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator

# Nothing that is read for its text is larger.
LARGEST = 100_000_000
PIECE = 1_000_000
# A pipe that took a file's place after it was looked at must not be waited for.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)

Path = str | os.PathLike[str]


def size(path: Path) -> int:
    """How many bytes a file has, 0 where none can be seen."""
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0


def head(path: Path, length: int) -> bytes:
    """The first bytes of a regular file of any size; see `read`."""
    return next(pieces(path, size(path), most=length), b"")


def read(path: Path, limit: int = LARGEST, *, follow: bool = True) -> bytes:
    """The content of a regular file.

    It has no more bytes than its size says: those of the kernel's own files say 0, and reading some of these waits.

    Raises:
        OSError: it can't be read, is no regular file, is a link (unless `follow`), or is larger than `limit` bytes.
    """
    return b"".join(pieces(path, limit, follow=follow))


def pieces(path: Path, limit: int = LARGEST, *, follow: bool = True, most: int = PIECE) -> Iterator[bytes]:
    """The content of a regular file in pieces of `most` bytes; see `read`."""
    _check(os.stat(path, follow_symlinks=follow), limit)
    handle = os.open(path, _READ | (0 if follow else _NO_LINK))
    try:
        left = _check(os.fstat(handle), limit)
        while left and (piece := os.read(handle, min(left, most))):
            left -= len(piece)
            yield piece
    finally:
        os.close(handle)


def _check(found: os.stat_result, limit: int) -> int:
    """The size of what was found.

    Raises:
        OSError: it is not to be read.
    """
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    if found.st_size > limit:
        raise OSError(errno.EFBIG, f"larger than {limit:,} bytes")
    return found.st_size
