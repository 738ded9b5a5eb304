"""Jupyter notebooks: `!python train.py` and `%%bash` in code cells. Cells are JSON strings, and are edited as such."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from trl_lint.launch.commands.commands import CommandContext, Commands, Unreadable
from trl_lint.launch.commands.source_map import Passage, align, joined
from trl_lint.launch.parsers import readers, shell, shell_tree
from trl_lint.launch.parsers.notebook_json import code_cells

_CELL_MAGIC = re.compile(r"%%(?:bash|sh|script\s+(?:bash|sh))\b[^\n]*\n")
_LINE_MAGIC = re.compile(r"[ \t]*(?:\w+[ \t]*=[ \t]*)?(?:!|%sx[ \t]|%system[ \t])")
_ENVIRONMENT = re.compile(
    r"^[ \t]*(?:%(?:set_)?env[ \t]+([A-Z_]\w*)[= \t]+(?![= \t])(\S*)"
    r"|os\.environ\[['\"]([A-Z_]\w*)['\"]\][ \t]*=[ \t]*['\"]([^'\"]*)['\"])[ \t]*$",
    re.MULTILINE,
)


def commands(text: str) -> Commands:
    """The commands in a notebook's code cells."""
    context, some_large = CommandContext("notebook"), False
    for source in code_cells(text):
        cell = source.text
        if found := {match[1] or match[3]: match[2] or match[4] or "" for match in _ENVIRONMENT.finditer(cell)}:
            context.work.spend(1 + len(context.environment), "variables")
            context = replace(context, environment={**context.environment, **found})
        if not readers.may_be_command(cell):
            continue
        if len(cell) > shell_tree.LARGEST:
            some_large = True
            continue
        pieces = [align(text, each.start + 1, each.end - 1, each.value) for each in source.strings]
        found_pieces = [each for each in pieces if each is not None]
        if len(found_pieces) == len(pieces):
            yield from _cell(joined(found_pieces), context)
    if some_large:
        raise Unreadable(f"a cell has more than {shell_tree.LARGEST:,} characters")


def _cell(cell: Passage, surroundings: CommandContext) -> Commands:
    magic = _CELL_MAGIC.match(cell.text)
    if magic:
        yield from shell.read(cell.part(magic.end(), len(cell.text)), replace(surroundings, kind="notebook"))
        return
    if cell.text.startswith("%%") and not re.match(r"%%(?:time|capture)", cell.text):
        return
    for line in _magic_lines(cell):
        yield from shell.read(line, surroundings)


def _magic_lines(cell: Passage) -> Iterator[Passage]:
    """Lines for the shell without their `!`, with those that a backslash joins to them."""
    lines = [(match.start(), match.end()) for match in re.finditer(r"[^\n]*\n?", cell.text) if match[0]]
    pieces: list[Passage] = []
    for start, end in lines:
        match = _LINE_MAGIC.match(cell.text, start, end)
        if pieces or match:
            pieces.append(cell.part(start if pieces or match is None else match.end(), end))
            if not cell.text[start:end].rstrip().endswith("\\"):
                yield _without_braces(joined(pieces))
                pieces = []
    if pieces:
        yield _without_braces(joined(pieces))


def _without_braces(passage: Passage) -> Passage:
    """Mask `{name}`, which IPython replaces by Python values."""
    from trl_lint.launch.commands.templates import without_braces

    return without_braces(passage)
