"""`# noqa`, read the way flake8 reads it, so that both ways into the tool agree on what is silenced.

`# noqa` silences a line, `# noqa: TRL001` one rule on it, `# noqa: item-before-gather` the same by name. A
line `# flake8: noqa` silences the file, with codes only those. As in flake8 a comment counts for its physical
line, and for all lines that a string or a backslash joins to it. For the other forms see `directives.py`.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from trl_lint.findings import Finding, Position, Related
from trl_lint.launch.parsers.readers import DOCUMENTATION, NOTEBOOK, front_end, is_launch_file
from trl_lint.linter.comments.directives import Directive, in_file, in_text
from trl_lint.linter.comments.presence import may_silence
from trl_lint.linter.decoding import source_lines

if TYPE_CHECKING:
    from trl_lint.linter.cells.places import CodePart

_SILENT_TOKENS = frozenset({tokenize.ENDMARKER, tokenize.DEDENT, tokenize.ENCODING})
_LINE_ENDS = frozenset({tokenize.NL, tokenize.NEWLINE})


class Comments:
    """The comments of a text that silence findings; evaluated per finding.

    path: determines the language of the text; Python by default. In other languages a comment applies to the lines that
    the finding spans, except in documentation, where each block is a Python module. lines: those of the text; for a
    notebook, those of all its cells.
    """

    def __init__(self, source: bytes, path: PurePath | None = None) -> None:
        self.cells: CodePart | None = None
        self._document = (path, source) if path is not None and front_end(path) in DOCUMENTATION else None
        self._in_blocks: dict[PurePath, Comments] = {}
        if path is not None and front_end(path) == NOTEBOOK:
            from trl_lint.linter.cells.notebook import all_cells

            self.cells = all_cells(path, source)
            source = self.cells.source
        self.lines = source_lines(source)
        self.is_python = self.cells is not None or path is None or not is_launch_file(path, source)
        self._source = source
        self._around: dict[tuple[int, int], tuple[Directive, ...]] = {}

    @cached_property
    def for_file(self) -> list[Directive]:
        """The comments that apply to the whole file."""
        return [found for number, line in enumerate(self.lines, 1) if (found := in_file(line, number))]

    @cached_property
    def _spans(self) -> dict[int, tuple[int, int]]:
        return joined_lines(self._source) if self.is_python else {}

    def span(self, line: int, last: int | None = None) -> tuple[int, int]:
        """The first and last line that a comment on a line applies to, or that a finding up to `last` spans."""
        return self._spans.get(line, (line, line)) if self.is_python else (line, last or line)

    def span_of(self, finding: Finding) -> tuple[int, int]:
        """The lines in which a comment silences a finding."""
        return self._span_at(finding.start, finding)

    def around(self, span: tuple[int, int]) -> tuple[Directive, ...]:
        """The comments that apply to these lines."""
        if span not in self._around:
            first, last = span
            self._around[span] = tuple(in_text("".join(self.lines[first - 1 : last]), first))
        return self._around[span]

    def block_of(self, finding: Finding) -> tuple[CodePart, Finding] | None:
        """The Python block that contains a finding in documentation, and the finding at its place in the block."""
        if self._document is None:
            return None
        from trl_lint.linter.cells.blocks import read_blocks

        path, source = self._document
        for part in read_blocks(Path(path), source).parts:
            start = part.to_module(finding.start)
            if start is not None and part.lines[start.line - 1].own:
                return part, _inside(part, finding)
        return None

    def directives_for(self, finding: Finding) -> Iterator[Directive]:
        """The comments that may silence a finding, at places in its block if it is in one."""
        block = self.block_of(finding)
        if block is not None:
            part, inside = block
            if part.path not in self._in_blocks:
                self._in_blocks[part.path] = Comments(part.source)
            yield from self._in_blocks[part.path].directives_for(inside)
            return
        yield from self.for_file
        for place in (finding.start, *finding.branches):
            yield from self.around(self._span_at(place, finding))

    def silence(self, finding: Finding) -> bool:
        return any(each.covers(finding) for each in self.directives_for(finding))

    def noqa_row(self, finding: Finding) -> int:
        """The line (of the cell, if there is one) at whose end a `# noqa` for a finding belongs."""
        block = self.block_of(finding)
        if block is not None:
            part, inside = block
            return part.lines[Comments(part.source).span_of(inside)[1] - 1].number
        last = self.span_of(finding)[1]
        return last if self.cells is None else self.cells.lines[last - 1].number

    def inside(self, finding: Finding) -> Finding:
        """A finding of a notebook at its place among the lines of all cells."""
        return finding if self.cells is None else _inside(self.cells, finding)

    def lines_of(self, finding: Finding) -> list[str]:
        """The lines that the line numbers of a finding refer to: those of its cell, or of the whole text."""
        if self.cells is None or not finding.start.cell:
            return self.lines
        return source_lines(self.cells.texts.get(finding.start.cell, "").encode("utf-8", "replace"))

    def _span_at(self, place: Position, finding: Finding) -> tuple[int, int]:
        line = self._line(place)
        if not self.is_own(line):  # a shell command
            return line, max(line, self._line(finding.end))
        return self.span(line, finding.end.line)

    def is_own(self, line: int) -> bool:
        """Whether a line is in the file unchanged; in a notebook, whether it is Python."""
        return self.cells is None or not 0 < line <= len(self.cells.lines) or self.cells.lines[line - 1].own

    def _line(self, place: Position) -> int:
        inside = place if self.cells is None else self.cells.to_module(place)
        return place.line if inside is None else inside.line


def _inside(part: CodePart, finding: Finding) -> Finding:
    """A finding at its place among the lines of a part."""
    start, end = (part.to_module(each) or each for each in (finding.start, finding.end))
    branches = tuple(part.to_module(each) or each for each in finding.branches)
    also = tuple(own for each in finding.also if (own := _inside_of_own(part, finding, each)) is not None)
    return replace(finding, start=start, end=end, branches=branches, also=also)


def _inside_of_own(part: CodePart, finding: Finding, related: Related) -> Related | None:
    """Another place of a finding among the lines of a part; None if it is elsewhere, or not in a line of its own."""
    place = part.to_module(related.start) if related.path == finding.path else None
    return related._replace(start=place) if place is not None and part.lines[place.line - 1].own else None


def split(
    findings: Sequence[Finding], source: bytes, path: PurePath | None = None
) -> tuple[list[Finding], list[Finding]]:
    """The findings that remain, and those that a comment in `source` silences. path: see `Comments`."""
    if not findings or not may_silence(source):
        return list(findings), []
    comments = Comments(source, path)
    kept: list[Finding] = []
    silenced: list[Finding] = []
    for finding in findings:
        (silenced if comments.silence(finding) else kept).append(finding)
    return kept, silenced


def joined_lines(source: bytes) -> dict[int, tuple[int, int]]:
    """For every line, the first and last line of the group that it is joined with.

    This is flake8's `_noqa_line_mapping`: strings and backslashes join lines, brackets do not. If the source can't be
    tokenized, every line is its own group.
    """
    spans: dict[int, tuple[int, int]] = {}
    pending: list[int] = []
    try:
        for token in tokenize.tokenize(io.BytesIO(source).readline):
            if token.type in _SILENT_TOKENS:
                continue
            pending += (token.start[0], token.end[0])
            if token.type in _LINE_ENDS:
                span = (min(pending), max(pending))
                spans.update(dict.fromkeys(range(span[0], span[1] + 1), span))
                pending = []
    except (tokenize.TokenError, SyntaxError, UnicodeError, ValueError, RecursionError):
        return {}
    return spans
