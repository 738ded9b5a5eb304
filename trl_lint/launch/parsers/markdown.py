"""Markdown: fenced and indented blocks of shell, console sessions, and fences of any language with a front end."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from trl_lint.knowledge.heuristics import NAMES_LAUNCHER
from trl_lint.launch.commands.commands import CommandContext, Commands, Hint, HintKind, TooMuch, Unreadable
from trl_lint.launch.commands.source_map import Passage, joined, line_starts
from trl_lint.launch.parsers import console_sessions, dockerfile, makefile

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_LANGUAGE = re.compile(r"\{?\.?([\w+-]*)")


def _read_yaml(passage: Passage, surroundings: CommandContext) -> Commands:
    from trl_lint.launch.parsers import yaml_files  # it imports a parser that most documents do not need

    yield from yaml_files.read(passage, surroundings)


OTHERS: dict[str, Callable[[Passage, CommandContext], Commands]] = {
    "dockerfile": dockerfile.read,
    "docker": dockerfile.read,
    "make": makefile.read,
    "makefile": makefile.read,
    "yaml": _read_yaml,
    "yml": _read_yaml,
}


def commands(text: str) -> Commands:
    """The commands in the code blocks of a Markdown file."""
    yield from read(Passage.whole(text), CommandContext("markdown"))


def read(passage: Passage, surroundings: CommandContext) -> Commands:
    starts = _line_starts(passage.text)
    headings: list[tuple[int, str]] = []
    paragraphs: dict[int, str] = {}
    environment = surroundings.environment
    tokens = _parser().parse(passage.text)
    for place, token in enumerate(tokens):
        # The paragraphs above a block count: the one before it, and the one before the list that contains it.
        paragraphs = {level: text for level, text in paragraphs.items() if level <= token.level}
        if token.type == "heading_open":
            level = int(token.tag[1:])
            headings = [each for each in headings if each[0] < level] + [(level, tokens[place + 1].content)]
            environment, paragraphs = surroundings.environment, {}
        elif token.type == "paragraph_open":
            paragraphs[token.level] = tokens[place + 1].content
        elif token.type in ("fence", "code_block"):
            may_matter = console_sessions.may_launch(token.content) or "export" in token.content
            block = _block(passage, starts, token) if may_matter else None
            if block is None:
                continue
            texts = [*(text for _, text in headings), *(text for _, text in sorted(paragraphs.items()))]
            texts += _below(tokens, place)
            notes = tuple(Hint(HintKind.NOTE, text, text) for text in texts)
            context = replace(surroundings, environment=environment, hints=surroundings.hints + notes)
            language = _language(token.info)
            yield from read_block(block, language, context)
            if language in console_sessions.SHELLS | console_sessions.SESSIONS:
                environment = console_sessions.exported(block, context)


def code_blocks(text: str) -> Iterator[tuple[str, Passage]]:
    """The code blocks of a document, each with the info string of its fence; "" for an indented block."""
    passage, starts = Passage.whole(text), _line_starts(text)
    for token in _parser().parse(text):
        if token.type in ("fence", "code_block"):
            block = _block(passage, starts, token)
            if block is not None:
                yield token.info, block


def _below(tokens: Sequence[Token], place: int) -> list[str]:
    """The paragraph right after a block, unless it introduces the next one; then it counts if it names a launcher."""
    opening = tokens[place + 1 : place + 3]
    if len(opening) < 2 or opening[0].type != "paragraph_open":
        return []
    text = opening[1].content
    leads_on = text.rstrip().endswith(":") and not NAMES_LAUNCHER.fits(text)
    return [] if leads_on else [text]


def read_block(block: Passage, language: str, surroundings: CommandContext) -> Commands:
    """The commands of a code block. A block that its front end can't read is documentation, not an error."""
    try:
        if language in OTHERS:
            yield from OTHERS[language](block, surroundings)
        else:
            yield from console_sessions.read(block, language, surroundings)
    except TooMuch:
        raise
    except Unreadable:
        return


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    # Only blocks matter: inline markup is never parsed.
    return MarkdownIt("commonmark").disable(["inline"])


def _line_starts(text: str) -> list[int]:
    # The parser counts `\r\n`, `\r` and `\n` as line ends, and nothing else.
    return [*line_starts(text), len(text)]


def _language(info: str) -> str:
    match = _LANGUAGE.match(info.strip())
    return match[1].lower() if match else ""


def _block(passage: Passage, starts: list[int], token: Token) -> Passage | None:
    """The contents of a block. Its lines may be indented, in a list, or quoted with `>`."""
    if token.map is None:
        return None
    first = token.map[0] + (token.type == "fence")
    lines: list[Passage] = []
    for number, line in enumerate(token.content.splitlines(keepends=True), first):
        if number + 1 >= len(starts):
            return None
        start, end = starts[number], starts[number + 1]
        text = line.rstrip("\n")
        # For an empty line, which may be indented or quoted, its end is kept, as it separates commands.
        place = passage.text.rfind(text, start, end) if text else max(start, end - 1)
        if place < 0:
            return None
        lines.append(passage.part(place, end))
    return joined(lines) if lines else None
