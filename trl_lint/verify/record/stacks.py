"""The stacks that the interpreter writes on a signal."""

from __future__ import annotations

import re

from trl_lint.verify.rank.call_stack import StackFrame

_FRAME = re.compile(r'^\s+File "(.+)", line (\d+) in (.+)$')


def of_main_thread(text: str) -> list[StackFrame]:
    """The stack of the main thread, innermost first: it is the last one written. Empty if there is none."""
    threads: list[list[StackFrame]] = []
    for line in text.splitlines():
        if "most recent call first" in line:
            threads.append([])
        elif threads and (frame := _FRAME.match(line)):
            threads[-1].append((frame[1], int(frame[2]), frame[3]))
    return threads[-1] if threads else []
