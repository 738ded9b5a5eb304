"""Hovers: the facts about a name, and the page of a rule."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from lsprotocol import types

from trl_lint.analysis.events import Known
from trl_lint.findings import Note, Position
from trl_lint.frontends.server.documents import Linted, Version
from trl_lint.frontends.server.linting import reuse_trees
from trl_lint.frontends.server.projects import Projects
from trl_lint.linter.cells.places import CodePart
from trl_lint.linter.explaining import NameFacts, facts_at
from trl_lint.linter.files.discovery import display_path
from trl_lint.linter.linter import Linter
from trl_lint.rules.base import BaseRule

_NOQA = re.compile(r"#\s*(?:flake8[:=]\s*)?noqa\b.*", re.IGNORECASE)
_WORD = re.compile(r"[\w-]+")


def rule_in_comment(projects: Projects, version: Version, place: Position) -> tuple[BaseRule, types.Range] | None:
    """The rule that a `# noqa` comment names at a place, by its code or name, and where."""
    comment = _NOQA.search(version.coordinates.line(place.line))
    if comment is None:
        return None
    for word in _WORD.finditer(comment.string, comment.start()):
        rule = projects.find_rule(version.path, word[0]) if word.start() < place.column <= word.end() + 1 else None
        if rule is not None:
            start, end = (Position(place.line, offset + 1) for offset in word.span())
            return rule, version.coordinates.span(start, end)
    return None


def rules_at(projects: Projects, linted: Linted | None, place: Position) -> list[BaseRule]:
    """The rules with a finding at a position, without duplicates."""
    if linted is None:
        return []
    codes = dict.fromkeys(each.code for each in linted.findings if each.start <= place <= each.end)
    return [rule for code in codes if (rule := projects.find_rule(linted.version.path, code))]


def names_at(projects: Projects, version: Version, place: Position) -> tuple[NameFacts, ...]:
    """The facts about the names at a position, the innermost first.

    Raises:
        SourceError: the text can't be parsed.
    """
    if projects.is_excluded(version.path):
        return ()
    linter = projects.linter(version.path, extra_events=[Known])
    if not linter.analyses(version.path, version.source):
        return ()
    reuse_trees(linter, version.path, version.source)
    document = linter.document(version.path, version.source)
    if document is None:
        return _names_in(linter, version.path, version.source, place)
    for part in document.sound:
        inside = part.to_module(place)
        if inside is not None:
            return tuple(_outside(part, each) for each in _names_in(linter, part.path, part.source, inside))
    return ()


def _names_in(linter: Linter, path: Path, source: bytes, place: Position) -> tuple[NameFacts, ...]:
    names = facts_at(linter, path, source, place.line).names
    around = [each for each in names if each.start <= place <= each.end]
    return tuple(sorted(around, key=_size))


def _outside(part: CodePart, known: NameFacts) -> NameFacts:
    """The facts about a name in a part of a file, with positions in the file."""

    def noted(note: Note) -> Note:
        is_in_part = note.path == str(part.path)
        return note._replace(path=str(part.file), start=part.to_file(note.start)) if is_in_part else note

    facts = tuple(replace(each, because=tuple(map(noted, each.because))) for each in known.facts)
    return replace(known, start=part.to_file(known.start), end=part.to_file(known.end), facts=facts)


def _size(known: NameFacts) -> tuple[int, int]:
    """The size of an expression in the text: of two around a position, the inner one is smaller."""
    return known.end.line - known.start.line, known.end.column - known.start.column


def markdown_of(known: NameFacts, version: Version) -> str:
    """The facts about a name, in Markdown."""
    lines = []
    for fact in known.facts:
        lines += ["", f"`{known.name}`: {fact.text}", ""]
        for note in fact.because:
            path = Path(note.path)
            line = f"cell {note.start.cell}, line {note.start.line}" if note.start.cell else f"line {note.start.line}"
            place = line if path == version.path else f"{display_path(path)}:{note.start.line}"
            lines.append(f"- {place}: {note.text}")
    return "\n".join(lines).strip()


def hover(parts: list[str], span: types.Range | None) -> types.Hover | None:
    """Parts in Markdown, one below the other."""
    if not parts:
        return None
    return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, "\n\n---\n\n".join(parts)), span)
