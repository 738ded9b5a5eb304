"""For people: each finding with its code, its explanation and its help, optionally in colour."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import chain, groupby

from trl_lint import plain, reports
from trl_lint.findings import Applicability, Finding, Fix, Guard, Note
from trl_lint.linter.comments import suppressions
from trl_lint.linter.files.discovery import display_path
from trl_lint.linter.runner import FileResult
from trl_lint.reports.frames import Line, framed, margin, shown_guard

MOST_PLACES = 5  # of one cause that are listed

MOST_CALLS = 3  # consecutive calls that only pass a value on, listed in full up to this number
LAST_CALLS = 2  # how many are listed otherwise

HOW_TO_FIX = {
    Applicability.UNSAFE: ("fix: ", "only with --unsafe-fixes"),
    Applicability.DISPLAY: ("no automatic fix", ""),
}


class Report(reports.Report):
    """Findings with code frames, and a summary."""

    def show(self, result: FileResult) -> None:
        if not result.findings:
            return
        comments = suppressions.Comments(result.source, result.path)
        for finding in result.findings:
            for line in self._finding(finding, comments.lines_of(finding)):
                self._write([(plain.line(text), style) for text, style in line])

    def close(self) -> None:
        if self.quiet:
            return
        closing = list(reports.summary(self.tally, unsafe=self.unsafe, fixing=self.fixing))
        if not closing and self.tally.analysed and not self.tally.problems:
            closing = ["No new findings." if self.tally.hidden else "All clear: no findings."]
        if self.tally.files:
            closing.append(reports.looked_at(self.tally))
        for text in chain(reports.fixes(self.tally), closing):
            self.say(text)

    def _finding(self, finding: Finding, lines: list[str]) -> Iterator[Line]:
        left = margin(finding, lines)
        mark = " [*]" * self.mends(finding)
        link = f" link {finding.url}" if finding.url else ""
        yield [
            (reports.place(finding), "bold"),
            (": ", ""),
            (finding.code, f"bold red{link}"),
            (mark, "cyan"),
            (f" [{finding.consequence.value}]", "magenta"),
            (f" {finding.name}: {finding.message}", ""),
        ]
        steps = _without_guard(finding.because, shown_guard(finding, lines))
        because: list[Line] = [[(f"{left} because: ", "cyan"), (text, ""), (place, "dim")] for text, place in steps]
        yield from framed(finding, lines, because)
        yield from self._also(finding, left)
        if finding.advice:
            yield [(f"{left} help: ", "green"), (finding.advice, "")]
        if finding.fix and not self.mends(finding):
            yield from _caveat(finding.fix, left)
        yield []

    def _also(self, finding: Finding, margin: str) -> Iterator[Line]:
        """The other places of the same cause, up to a limit."""
        for each in finding.also[:MOST_PLACES]:
            place = f"{display_path(each.path)}:{each.start.row}"
            text = f"{each.code}: {each.message}"
            if each.code == finding.code:  # what follows the colon is what both lead to
                text = "the same" if each.message == finding.message else each.message.partition(": ")[0]
            yield [(f"{margin} also: ", "cyan"), (text, ""), (f" ({place})", "dim")]
        left = len(finding.also) - MOST_PLACES
        if left > 0:
            yield [(f"{margin} also: ", "cyan"), (f"at {left} more places", "")]

    @cached_property
    def _write(self) -> Callable[[Line], None]:
        """How a line is written: rich is imported only for colour, and only once there is a finding."""
        if not self.colour:
            return lambda line: print("".join(text for text, _ in line), file=self.out)
        from rich.console import Console
        from rich.text import Text

        console = Console(file=self.out, force_terminal=True, color_system="standard", no_color=False)
        return lambda line: console.print(Text.assemble(*line), soft_wrap=True, highlight=False)


def _without_guard(because: Sequence[Note], guard: Guard | None) -> Iterator[tuple[str, str]]:
    """The chain without the step that is already shown at the guard's line."""
    guard_step = guard and (guard.text, guard.start)
    return shortened([each for each in because if (each.text, each.start) != guard_step])


def shortened(chain_of_notes: Sequence[Note]) -> Iterator[tuple[str, str]]:
    """The text and the place of each step; of many consecutive calls that only pass a value on, just the last ones."""
    for hands_on, run in groupby(chain_of_notes, key=lambda each: each.hands_on):
        steps = list(run)
        if hands_on and len(steps) > MOST_CALLS:
            yield f"… {len(steps) - LAST_CALLS} more calls", ""
            steps = steps[-LAST_CALLS:]
        for step in steps:
            yield step.text, f" ({display_path(step.path)}:{step.start.row})"


def _caveat(fix: Fix, margin: str) -> Iterator[Line]:
    """Why `--fix` would not fix a finding."""
    how = HOW_TO_FIX.get(fix.applicability)
    if how is None:
        return
    reason = f": {fix.reason}" if fix.reason else ""
    yield [(f"{margin} {how[0]}", "dim"), (f"{how[1]}{reason}", "dim")]
    for each in fix.conditions[:MOST_PLACES]:
        place = f"{display_path(each.path)}:{each.start.row}"
        yield [(f"{margin}   as ", "dim"), (each.text, "dim"), (f" ({place})", "dim")]
