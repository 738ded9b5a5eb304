"""Lines of code with underlines, as the `text` format shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

from trl_lint.findings import Finding, Guard, Position

# A line is a list of pieces: a text and its style in rich's syntax.
Line = list[tuple[str, str]]

TAB = "    "
WIDEST = 160  # of a line of code; beyond it, only the part around the finding is shown
LEAD = 60


@dataclass(frozen=True, slots=True)
class _Mark:
    """What is underlined, with which character and style, and the label after it."""

    start: Position
    end: Position
    char: str
    style: str
    label: str = ""


def framed(finding: Finding, lines: Sequence[str], between: Sequence[Line]) -> Iterator[Line]:
    """The place of a finding, and before it its guard, with the explanation between the two.

    If there is no guard, or it is in another file, the explanation is below the place.
    """
    guard, width = shown_guard(finding, lines), len(margin(finding, lines))
    found = _Mark(finding.start, finding.end, "^", "bold red", guard.meaning if guard else "")
    if guard is None:
        yield from _excerpt(lines, [found], width)
        yield from between
        return
    condition = _Mark(guard.start, guard.end, "-", "bold cyan", guard.text)
    if guard.start.line == finding.start.line:
        yield from _excerpt(lines, [condition, found], width)
        yield from between
        return
    yield from _excerpt(lines, [condition], width, above=False)
    yield from between
    yield from _excerpt(lines, [found], width, above=finding.start.line != guard.start.line + 1)


def shown_guard(finding: Finding, lines: Sequence[str]) -> Guard | None:
    """The guard, if it can be shown together with the place of the finding."""
    guard = finding.guard
    if guard is None or guard.path != finding.path:
        return None
    return guard if all(1 <= each.start.line <= len(lines) for each in (guard, finding)) else None


def margin(finding: Finding, lines: Sequence[str]) -> str:
    """Blanks as wide as the line numbers that are shown."""
    guard = shown_guard(finding, lines)
    return " " * len(str(max(each.start.line for each in (finding, guard or finding))))


def _excerpt(lines: Sequence[str], marks: Sequence[_Mark], width: int, above: bool = True) -> Iterator[Line]:
    """The line on which all marks start, with each of them below, and the line above if it is not blank."""
    row = marks[0].start.line
    if not 1 <= row <= len(lines):
        return
    bar = (f"{' ' * width} |", "blue")
    yield [bar]
    if above and row > 1 and lines[row - 2].strip():
        yield _code(f"{row - 1:>{width}} | ", lines[row - 2].rstrip("\n")[:WIDEST])
    line = lines[row - 1].rstrip("\n")
    first = min(min(mark.start.column for mark in marks) - 1, len(line))
    cut = first - LEAD if len(line) > WIDEST and first > LEAD else 0
    yield _code(f"{row:>{width}} | ", line[cut : cut + WIDEST])
    for mark in marks:
        yield [bar, *_below(mark, line, cut)]
    yield [bar]


def _below(mark: _Mark, line: str, cut: int) -> Line:
    """The underline of a mark, below the part of its line that is shown, and its label."""
    first = min(mark.start.column - 1, len(line))
    last = mark.end.column - 1 if mark.end.line == mark.start.line else len(line)
    skipped = _width(_printable(line[cut:first]))
    length = max(_width(_printable(line[first : min(last, cut + WIDEST)])), 1)
    # Do not name the underlined code again.
    text = mark.label.removeprefix(f"`{line[first:last]}` ")
    label = [(f" {text}", mark.style.removeprefix("bold "))] * bool(text)
    return [(" " + " " * skipped, ""), (mark.char * length, mark.style), *label]


def _code(gutter: str, text: str) -> Line:
    printable = _printable(text).rstrip()
    return [(gutter if printable else gutter.rstrip(), "blue"), (printable, "")]


def _printable(text: str) -> str:
    """Code in printable form: without tabs and control characters."""
    return "".join(char if char.isprintable() else "\N{MIDDLE DOT}" for char in text.replace("\t", TAB))


def _width(text: str) -> int:
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)
