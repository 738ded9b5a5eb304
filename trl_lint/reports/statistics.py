"""The number of findings per rule, and how many of them `--fix` would fix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from trl_lint import reports
from trl_lint.findings import Finding
from trl_lint.linter.runner import FileResult


@dataclass(frozen=True, slots=True)
class Count:
    """The findings of a rule. fixable: those that `--fix`, with the user's options, would fix."""

    code: str
    name: str
    count: int
    fixable: int


class Report(reports.Report):
    """A line per rule, the most frequent first; `[*]` marks rules with fixable findings."""

    def show(self, result: FileResult) -> None:
        """Do nothing: all is shown at the end."""

    def counts(self) -> list[Count]:
        found = self.tally.findings
        rules = sorted({(each.code, each.name) for each in found})
        rows = (
            Count(code, name, sum(each.code == code for each in found), sum(map(self.mends, self._of(code))))
            for code, name in rules
        )
        return sorted(rows, key=lambda row: (-row.count, row.code))

    def _of(self, code: str) -> Iterator[Finding]:
        return (each for each in self.tally.findings if each.code == code)

    def close(self) -> None:
        rows = self.counts()
        width = max((len(str(row.count)) for row in rows), default=0)
        name = max((len(row.name) for row in rows), default=0)
        for row in rows:
            mark = "[*]" if row.fixable else "   "
            fixable = f"  {row.fixable} with --fix" * bool(row.fixable)
            self.say(f"{row.count:>{width}}  {row.code} {mark} {row.name:<{name}}{fixable}".rstrip())
        closing = reports.summary(self.tally, unsafe=self.unsafe, fixing=self.fixing)
        for line in chain(reports.fixes(self.tally), closing, [reports.looked_at(self.tally)]):
            self.say(line)
