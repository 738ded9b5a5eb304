"""Lines of code with marks below what is meant, as the `text` format shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from unicodedata import east_asian_width

from trl_lint.findings import Finding, Guard, Position

# A line is a list of pieces: a text and its style in rich's words.
Line = list[tuple[str, str]]

TAB = "    "
WIDEST = 160  # of a line of code; beyond it only the part around the finding is shown
LEAD = 60


@dataclass(frozen=True, slots=True)
class _Mark:
    """What is underlined, with what, and what is said behind that."""

    start: Position
    end: Position
    char: str
    style: str
    label: str = ""


def framed(finding: Finding, lines: Sequence[str], between: Sequence[Line]) -> Iterator[Line]:
    """The place of a finding, and before it what keeps ranks away from there, with what explains it between the two.

    Where nothing does, or it is in another file, the explanation stands below the place.
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


def frame(finding: Finding, lines: Sequence[str]) -> Iterator[Line]:
    """The line of a finding and the one above it, with carets under what is meant."""
    mark = _Mark(finding.start, finding.end, "^", "bold red")
    return _excerpt(lines, [mark], len(str(finding.start.line)))


def shown_guard(finding: Finding, lines: Sequence[str]) -> Guard | None:
    """What keeps ranks away, where it can be shown beside the place of the finding."""
    guard = finding.guard
    if guard is None or guard.path != finding.path:
        return None
    return guard if all(1 <= each.start.line <= len(lines) for each in (guard, finding)) else None


def margin(finding: Finding, lines: Sequence[str]) -> str:
    """What stands below the numbers of the lines that are shown."""
    guard = shown_guard(finding, lines)
    return " " * len(str(max(each.start.line for each in (finding, guard or finding))))


def _excerpt(lines: Sequence[str], marks: Sequence[_Mark], width: int, above: bool = True) -> Iterator[Line]:
    """The line on which all marks start, with each of them below, and the line above if that says anything."""
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
    skipped = _width(_shown(line[cut:first]))
    length = max(_width(_shown(line[first : min(last, cut + WIDEST)])), 1)
    # What is underlined is not named again.
    said = mark.label.removeprefix(f"`{line[first:last]}` ")
    label = [(f" {said}", mark.style.removeprefix("bold "))] * bool(said)
    return [(" " + " " * skipped, ""), (mark.char * length, mark.style), *label]


def _code(gutter: str, text: str) -> Line:
    shown = _shown(text).rstrip()
    return [(gutter if shown else gutter.rstrip(), "blue"), (shown, "")]


def _shown(text: str) -> str:
    """Code as it can be shown: no tabs, and nothing that a terminal would obey."""
    return "".join(char if char.isprintable() else "\N{MIDDLE DOT}" for char in text.replace("\t", TAB))


def _width(text: str) -> int:
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)
