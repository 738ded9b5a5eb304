"""Few and large pages of memory, as a fork copies the page table.

Source: https://man7.org/linux/man-pages/man2/madvise.2.html `MADV_COLLAPSE` (Linux 6.1 on; others refuse).
"""

from __future__ import annotations

import contextlib
import ctypes
import re
from pathlib import Path

# Anonymous memory in the format of /proc.
_ANONYMOUS = re.compile(r"(\w+)-(\w+) rw-p \S+ \S+ 0\s*(?:\[heap\])?$")
_SIZE, _COLLAPSE = 2 << 20, 25


def collapse() -> None:
    """Move the memory of this process to huge pages, if the system supports it."""
    with contextlib.suppress(OSError, AttributeError):
        advise = ctypes.CDLL(None).madvise
        for line in Path("/proc/self/maps").read_text().splitlines():
            if found := _ANONYMOUS.match(line):
                start, end = (int(each, 16) for each in found.groups())
                start, end = -(-start // _SIZE) * _SIZE, end // _SIZE * _SIZE
                if start < end:
                    advise(ctypes.c_void_p(start), ctypes.c_size_t(end - start), _COLLAPSE)
