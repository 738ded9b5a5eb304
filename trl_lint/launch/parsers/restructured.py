"""reStructuredText: `.. code-block:: bash` and blocks after `::`.

docutils gives no line for many blocks, and none at all inside unknown directives (`.. tabs::`). Therefore the lines
are read here: a block is the text indented below the line that opens it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from trl_lint.launch.commands.commands import CommandContext, Commands, Hint, HintKind
from trl_lint.launch.commands.source_map import Passage, joined, line_spans
from trl_lint.launch.parsers.markdown import read_block

_DIRECTIVE = re.compile(
    r"([ \t]*)\.\.[ \t]+(?:code-block|code|sourcecode|prompt|parsed-literal)::[ \t]*(?P<language>[\w+-]*)[^\n]*\Z"
)
_OPTION = re.compile(r"[ \t]+:[\w-]+:")
_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}[ \t]*\Z")


def commands(text: str) -> Commands:
    """The commands in the code blocks of a reStructuredText file."""
    yield from read(Passage.whole(text), CommandContext("restructuredtext"))


def read(passage: Passage, surroundings: CommandContext) -> Commands:
    for language, above, block in blocks(passage):
        notes = tuple(Hint(HintKind.NOTE, each, each) for each in above)
        yield from read_block(block, language, replace(surroundings, hints=surroundings.hints + notes))


def blocks(passage: Passage, opening: re.Pattern[str] = _DIRECTIVE) -> Iterator[tuple[str, list[str], Passage]]:
    """The language, the texts above (heading, and the line before the block), and the contents of each block.

    opening: matches the directives that have blocks, and the name of the language in them.
    """
    spans = line_spans(passage.text)
    texts = [passage.text[start:end].rstrip("\r\n") for start, end in spans]
    heading, before, place = "", "", 0
    while place < len(texts):
        line = texts[place]
        if place and _UNDERLINE.match(line) and texts[place - 1].strip() and not texts[place - 1][0].isspace():
            heading = texts[place - 1].strip()
        directive = opening.match(line)
        place += 1
        if directive or _opens_literal(line):
            # The last line of the paragraph before the block; a directive is not part of it.
            leading = before if directive else line.strip()
            above = [each for each in (heading, "" if _UNDERLINE.match(leading) else leading) if each]
            opened = place
            first, place = _block(texts, place, _indent(line), bool(directive))
            if first < place:
                language = directive["language"].lower() if directive else ""
                yield language, above, _dedented(passage, spans[first:place], texts[first:place])
            line = next((each for each in reversed(texts[opened:place]) if each.strip()), line)
        before = line.strip() or before


def _opens_literal(line: str) -> bool:
    """Whether a line ends a paragraph with `::`."""
    return line.rstrip(" \t").endswith("::") and not line.lstrip(" \t").startswith((".. ", "..\t"))


def _block(texts: list[str], place: int, indent: int, directive: bool) -> tuple[int, int]:
    """The range of lines of a block whose opening line is indented by `indent`."""
    while directive and place < len(texts) and _OPTION.match(texts[place]):
        place += 1
    while place < len(texts) and not texts[place].strip():
        place += 1
    first = place
    while place < len(texts) and (not texts[place].strip() or _indent(texts[place]) > indent):
        place += 1
    return first, place


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _dedented(passage: Passage, spans: list[tuple[int, int]], texts: list[str]) -> Passage:
    common = min(_indent(each) for each in texts if each.strip())
    pieces = [passage.part(min(start + common, end), end) for start, end in spans]
    return joined(pieces)
