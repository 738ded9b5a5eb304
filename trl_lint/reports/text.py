"""For people: each finding with its code, what led to it and what mends it; in colour where wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain, groupby
from unicodedata import east_asian_width

from trl_lint import plain, reports
from trl_lint.findings import Applicability, Finding, Fix, Note
from trl_lint.linter import suppressions
from trl_lint.linter.discovery import display_path
from trl_lint.linter.runner import FileResult

# A line is a list of pieces: a text and its style in rich's words.
Line = list[tuple[str, str]]

TAB = "    "
WIDEST = 160  # of a line of code; beyond it only the part around the finding is shown
LEAD = 60
MOST_PLACES = 5  # of one cause that are listed

MOST_CALLS = 3  # of those that hand a value on, one after the other, that are listed
LAST_CALLS = 2  # that are listed where there are more

HOW_TO_FIX = {
    Applicability.UNSAFE: ("fix: ", "only with --unsafe-fixes"),
    Applicability.DISPLAY: ("no automatic fix", ""),
}


class Report(reports.Report):
    """Findings with code frames, and a summary."""

    def show(self, result: FileResult) -> None:
        if not result.findings:
            return
        places = suppressions.Places(result.source, result.path)
        for finding in result.findings:
            for line in self._finding(finding, places.around(finding)):
                self._write([(plain.line(text), style) for text, style in line])

    def close(self) -> None:
        closing = list(reports.summary(self.tally, unsafe=self.unsafe, fixing=self.fixing))
        if not closing and self.tally.analysed and not self.tally.problems:
            closing = ["All clear: no findings."]
        if self.tally.files:
            closing.append(reports.looked_at(self.tally))
        for text in chain(reports.fixes(self.tally), closing):
            self.say(text)

    def _finding(self, finding: Finding, lines: list[str]) -> Iterator[Line]:
        margin = " " * len(str(finding.start.line))
        mark = " [*]" * self.mends(finding)
        yield [
            (reports.place(finding), "bold"),
            (": ", ""),
            (finding.code, "bold red"),
            (mark, "cyan"),
            (f" [{finding.consequence.value}]", "magenta"),
            (f" {finding.name}: {finding.message}", ""),
        ]
        yield from frame(finding, lines)
        for text, place in shortened(finding.because):
            yield [(f"{margin} because: ", "cyan"), (text, ""), (place, "dim")]
        yield from self._also(finding, margin)
        mended_by = finding.help or (finding.fix.title if finding.fix else "")
        if mended_by:
            yield [(f"{margin} help: ", "green"), (mended_by, "")]
        if finding.fix and not self.mends(finding):
            yield from _caveat(finding.fix, margin)
        yield []

    def _also(self, finding: Finding, margin: str) -> Iterator[Line]:
        """The other places of the same cause, as many as a reader looks at."""
        for each in finding.also[:MOST_PLACES]:
            place = f"{display_path(each.path)}:{each.start.row}"
            said = "the same" if each.code == finding.code else f"{each.code}: {each.message}"
            yield [(f"{margin} also: ", "cyan"), (said, ""), (f" ({place})", "dim")]
        left = len(finding.also) - MOST_PLACES
        if left > 0:
            yield [(f"{margin} also: ", "cyan"), (f"at {left} more places", "")]

    @cached_property
    def _write(self) -> Callable[[Line], None]:
        """How a line reaches the user: rich is only imported for colour, and only once there is a finding."""
        if not self.colour:
            return lambda line: print("".join(text for text, _ in line), file=self.out)
        from rich.console import Console
        from rich.text import Text

        console = Console(file=self.out, force_terminal=True, color_system="standard", no_color=False)
        return lambda line: console.print(Text.assemble(*line), soft_wrap=True, highlight=False)


def shortened(chain_of_notes: Sequence[Note]) -> Iterator[tuple[str, str]]:
    """The text and the place of each step; of many calls in a row that only hand a value on, the last ones."""
    for hands_on, run in groupby(chain_of_notes, key=lambda each: each.hands_on):
        steps = list(run)
        if hands_on and len(steps) > MOST_CALLS:
            yield f"… {len(steps) - LAST_CALLS} more calls", ""
            steps = steps[-LAST_CALLS:]
        for step in steps:
            yield step.text, f" ({display_path(step.path)}:{step.start.row})"


def frame(finding: Finding, lines: list[str]) -> Iterator[Line]:
    """The line of a finding and the one above it, with carets under what is meant."""
    row = finding.start.line
    if not 1 <= row <= len(lines):
        return
    margin = " " * len(str(row))
    bar = (f"{margin} |", "blue")
    yield [bar]
    if row > 1 and lines[row - 2].strip():
        yield _code(f"{row - 1:>{len(margin)}} | ", lines[row - 2].rstrip("\n")[:WIDEST])
    line = lines[row - 1].rstrip("\n")
    first = min(finding.start.column - 1, len(line))
    last = finding.end.column - 1 if finding.end.line == row else len(line)
    cut = first - LEAD if len(line) > WIDEST and first > LEAD else 0
    yield _code(f"{row} | ", line[cut : cut + WIDEST])
    skipped = _width(_shown(line[cut:first]))
    carets = max(_width(_shown(line[first : min(last, cut + WIDEST)])), 1)
    yield [bar, (" " + " " * skipped, ""), ("^" * carets, "bold red")]
    yield [bar]


def _code(gutter: str, text: str) -> Line:
    shown = _shown(text).rstrip()
    return [(gutter if shown else gutter.rstrip(), "blue"), (shown, "")]


def _shown(text: str) -> str:
    """Code as it can be shown: no tabs, and nothing that a terminal would obey."""
    return "".join(char if char.isprintable() else "\N{MIDDLE DOT}" for char in text.replace("\t", TAB))


def _width(text: str) -> int:
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def _caveat(fix: Fix, margin: str) -> Iterator[Line]:
    """Why `--fix` would leave a finding alone."""
    how = HOW_TO_FIX.get(fix.applicability)
    if how is None:
        return
    reason = f": {fix.reason}" if fix.reason else ""
    yield [(f"{margin} {how[0]}", "dim"), (f"{how[1]}{reason}", "dim")]
    for each in fix.conditions[:MOST_PLACES]:
        place = f"{display_path(each.path)}:{each.start.row}"
        yield [(f"{margin}   as ", "dim"), (each.text, "dim"), (f" ({place})", "dim")]
