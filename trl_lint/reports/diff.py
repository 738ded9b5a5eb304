"""What `--fix` would change, as a unified diff for `patch` and `git apply`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from difflib import diff_bytes, unified_diff

from trl_lint import plain, reports
from trl_lint.linter.files.discovery import display_path
from trl_lint.linter.runner import FileResult


class Report(reports.Report):
    """Diffs on standard output, in the encoding of each file; the fixed findings on standard error."""

    differs = False

    @property
    def anything(self) -> bool:
        return self.differs

    def show(self, result: FileResult) -> None:
        self.out.flush()
        for line in unified(result):
            self.differs = True
            # A patch must be exact; on a terminal, control sequences must have no effect.
            self.out.buffer.write(_masked(line) if self.out.isatty() else line)

    def close(self) -> None:
        self.out.flush()
        if self.quiet:
            return
        for line in reports.fixes(self.tally, "Would fix"):
            self.say(line, sys.stderr)
        left = len(self.tally.findings)
        if left:
            them = "it" if left == 1 else "them"
            new = f" ({self.tally.uncovered} revealed by the fixes)" * bool(self.tally.uncovered)
            message = f"{reports.many(left, 'finding')} would remain{new}; run without --diff to see {them}."
            self.say(message, sys.stderr)


def unified(result: FileResult) -> Iterator[bytes]:
    """The lines of the diff between the original content and the fixed one."""
    if result.before is None or result.before == result.source:
        return
    name = plain.in_diff(os.fsencode(display_path(result.path)))
    for line in diff_bytes(unified_diff, _lines(result.before), _lines(result.source), name, name):
        yield line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n"


def _masked(line: bytes) -> bytes:
    text = line.decode("utf-8", "surrogateescape").removesuffix("\n")
    return "\t".join(map(plain.line, text.split("\t"))).encode() + b"\n"


def _lines(source: bytes) -> list[bytes]:
    """The lines for a diff, which end only at a newline: `bytes.splitlines` also splits at a lone carriage return."""
    return [line + b"\n" for line in source.split(b"\n")[:-1]] + [line for line in source.split(b"\n")[-1:] if line]
