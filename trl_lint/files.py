"""Read files on disk safely, even from an untrusted tree.

Links and names in a linted tree may point anywhere: to a pipe, a device, or an endless file. A path that can't be
inspected counts as no file and no folder: `os.path.isfile` returns False where `Path.is_file` raises, for a name that
is too long or a folder without permission. Only regular files of bounded size are read.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator

# No larger file is read as text.
LARGEST = 100_000_000
PIECE = 1_000_000
# Marks of a project's folder in a larger repository: files that declare what its code needs.
PROJECT_MARKS = ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt")
# Those of them that may say how its packages are installed.
INSTALL_MARKS = ("pyproject.toml", "setup.cfg", "setup.py")
# Do not block on a pipe that replaced a file after the check.
_READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)

Path = str | os.PathLike[str]


def size(path: Path) -> int:
    """The size of a file in bytes; 0 if it can't be determined."""
    try:
        return os.stat(path).st_size
    except (OSError, ValueError):
        return 0


def head(path: Path, length: int) -> bytes:
    """The first bytes of a regular file of any size; see `read`."""
    return next(pieces(path, size(path), most=length), b"")


def read(path: Path, limit: int = LARGEST, *, follow: bool = True) -> bytes:
    """The content of a regular file.

    At most as many bytes as its size says are read: kernel files report 0, and reading some of these blocks.

    Raises:
        OSError: it can't be read, is not a regular file, is a link (unless `follow`), or is larger than `limit` bytes.
    """
    return b"".join(pieces(path, limit, follow=follow))


def read_small(path: Path, most: int) -> bytes:
    """The content of a file; empty if it can't be read or is larger than that many bytes."""
    try:
        return read(path, most)
    except (OSError, ValueError):
        return b""


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
    """The size of the file.

    Raises:
        OSError: it must not be read.
    """
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "not a regular file")
    if found.st_size > limit:
        raise OSError(errno.EFBIG, f"larger than {limit:,} bytes")
    return found.st_size
