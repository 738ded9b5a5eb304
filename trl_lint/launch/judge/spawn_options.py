"""Options without which a program starts no other processes.

For example:

    parser.add_argument("--multiprocessing-distributed", action="store_true")
    if args.multiprocessing_distributed:
        mp.spawn(main_worker, nprocs=gpus, args=(args,))
    else:
        main_worker(args.gpu, args)
"""

from __future__ import annotations

import re

from trl_lint.knowledge.engines import SPAWNS, SPAWNS_RANKS

_ASKS = re.compile(rb"[ \t]*if[ \t]+\w+\.(\w+)[ \t]*:[ \t]*(?:#.*)?")
_HEAD = re.compile(rb"[ \t]*(?:async[ \t]+)?(?:def|class)\b")
_BLANK = re.compile(rb"[ \t]*(?:#.*)?")
# An option that is off unless it is given, and code that sets it all the same.
_FLAG = rb"[\"']--%b[\"']\s*,(?=(?:[^()]|\([^()]*\))*?store_true)"
_SET = rb"\.%b\s*=(?!=)|[\"']%b[\"']\s*[:\]]"
# Code that may take options from a file.
_FROM_FILE = re.compile(
    rb"\bfromfile_prefix_chars\b|\bset_defaults\(|\bsetattr\(|(?:\b__dict__|\bvars\([^()]*\))\.update\("
)


def spawn_options(data: bytes) -> frozenset[str]:
    """The options, off by default, behind which all code of a file is that starts processes; none if some is not."""
    lines = data.splitlines()
    starts = [number for number, line in enumerate(lines) if SPAWNS.search(line) and not _BLANK.fullmatch(line)]
    if _FROM_FILE.search(data) or not all(SPAWNS_RANKS.search(lines[each]) for each in starts):
        return frozenset()
    found = {_option_around(lines, each) for each in starts}
    return frozenset(each.decode() for each in found if all(_is_flag(data, option) for option in found))


def _option_around(lines: list[bytes], start: int) -> bytes:
    """The option that the innermost `if args.option:` around a line asks for, in its function; b"" if there is none."""
    depth = _indentation(lines[start])
    for line in reversed(lines[:start]):
        if _BLANK.fullmatch(line) or _indentation(line) >= depth:
            continue
        depth = _indentation(line)
        asked = _ASKS.fullmatch(line)
        if asked is not None:
            return asked[1]
        if _HEAD.match(line):
            break
    return b""


def _indentation(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def _is_flag(data: bytes, option: bytes) -> bool:
    """Whether a file declares an option that is off unless it is given, and nothing in it sets the option."""
    if not option:
        return False
    spelled = option.replace(b"_", b"[-_]")
    return re.search(_FLAG % spelled, data) is not None and re.search(_SET % (option, option), data) is None
