"""Dockerfiles: RUN, CMD and ENTRYPOINT in both forms, with the variables set by ENV before them.

The format is line-based, and BuildKit reads it so (frontend/dockerfile/parser). So does this module: the grammar of
tree-sitter-dockerfile gives up on a whole file with `ENV NAME two words`, which is valid and common.
"""

from __future__ import annotations

import json
import re
import shlex
from bisect import bisect_left
from collections import ChainMap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from trl_lint.launch.commands.commands import CHARACTERS, CommandContext, Commands, Form, Unreadable, Word
from trl_lint.launch.commands.source_map import Passage, align, joined, line_spans
from trl_lint.launch.parsers import argv, shell

LARGEST = 500_000
_ESCAPE = re.compile(r"(?:#[^\n]*\n)*?#[ \t]*escape[ \t]*=[ \t]*(`)", re.IGNORECASE)
_KEYWORD = re.compile(r"[ \t]*([A-Za-z]+)[ \t]+")
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)(\w+)\1")
_OPTIONS = re.compile(r"(?:--[a-z]+(?:=\S*)?[ \t]+)+")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_FROM = re.compile(r"(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?\s*\Z", re.IGNORECASE)


def commands(text: str) -> Commands:
    """The commands of a Dockerfile."""
    yield from read(Passage.whole(text), CommandContext("dockerfile"))


@dataclass(slots=True)
class _Stage:
    """From one FROM to the next. The last ENTRYPOINT and CMD count, and are run together."""

    environment: dict[str, str | None]
    arguments: dict[str, str | None] = field(default_factory=dict)
    entrypoint: Passage | None = None
    command: Passage | None = None


def read(passage: Passage, surroundings: CommandContext) -> Commands:
    if len(passage.text) > LARGEST:
        raise Unreadable(f"a Dockerfile of {len(passage.text)} characters is not looked at")
    stage = _Stage(dict(surroundings.environment))
    stages: dict[str, _Stage] = {}
    work = surroundings.work
    for keyword, body, script in _instructions(passage):
        context = replace(surroundings, environment=stage.environment)
        if keyword == "FROM":
            yield from _run_commands(stage, surroundings)
            stage = _new_stage(body.text, stages, surroundings)
        elif keyword == "ENV":
            # Commands share the environment at their position, so it is replaced, not changed.
            work.spend(1 + len(stage.environment), "variables")
            known = ChainMap(stage.environment, stage.arguments)
            stage.environment = {**stage.environment, **_pairs(body.text, known)}
        elif keyword == "ARG":
            name, equals, value = body.text.strip().partition("=")
            stage.arguments[name] = value.strip("\"'") if equals else None
        elif keyword == "ENTRYPOINT":
            stage.entrypoint, stage.command = body, None
        elif keyword == "CMD":
            stage.command = body
        elif keyword == "RUN":
            yield from _either(script or body, context, stage)
    yield from _run_commands(stage, surroundings)


def _new_stage(text: str, stages: dict[str, _Stage], surroundings: CommandContext) -> _Stage:
    """Begin a stage. One built on an earlier stage has the environment of that."""
    match = _FROM.match(text)
    base = stages.get(match[1].lower()) if match else None
    stage = _Stage(base.environment if base else dict(surroundings.environment))
    if base:
        stage.entrypoint = base.entrypoint
    if match and match[2]:
        stages[match[2].lower()] = stage
    return stage


def _run_commands(stage: _Stage, surroundings: CommandContext) -> Commands:
    """What the image runs: `ENTRYPOINT ["python"]` and `CMD ["train.py"]` are one command."""
    context = replace(surroundings, environment=stage.environment)
    entry, command = stage.entrypoint, stage.command
    first = _items(entry, context) if entry else None
    second = _items(command, context) if command else None
    if entry and first is None:
        yield from _either(entry, context, stage)
    elif first is not None and (command is None or second is not None):
        yield from argv.read([*first, *(second or [])], context, Form.JSON)
    elif command and first is None:
        yield from _either(command, context, stage)


def _either(body: Passage, surroundings: CommandContext, stage: _Stage) -> Commands:
    items = _items(body, surroundings)
    if items is not None:
        yield from argv.read(items, surroundings, Form.JSON)
    else:
        yield from shell.read(body, surroundings, stage.arguments)


def _items(body: Passage, surroundings: CommandContext) -> list[argv.Item] | None:
    """The words of the JSON form, or None: other text is passed to the shell, as Docker does it."""
    text = body.text.strip()
    if not text.startswith("["):
        return None
    surroundings.work.spend(1 + len(text) // CHARACTERS, "words")
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        return None
    found: list[argv.Item] = []
    for match, value in zip(_STRING.finditer(body.text), values, strict=False):
        start, end, exact = body.span(match.start(), match.end())
        inner = align(body.file, start + 1, end - 1, value) if exact else None
        found.append(argv.Item(Word(value, start, end, match[0], exact, value), inner))
    return found


def _instructions(passage: Passage) -> Iterator[tuple[str, Passage, Passage | None]]:
    """Keyword, body without its options, and the script of a here-document."""
    lines = line_spans(passage.text)
    ends = _Ends(passage.text, lines)
    escape = "`" if _ESCAPE.match(passage.text) else "\\"
    place = 0
    while place < len(lines):
        pieces: list[Passage] = []
        while place < len(lines):
            start, end = lines[place]
            line = passage.text[start:end]
            place += 1
            if not line.strip() or line.lstrip().startswith("#"):
                if not pieces:
                    break
                continue
            pieces.append(passage.part(start, end))
            if not line.rstrip().endswith(escape):
                break
        if not pieces or not (match := _KEYWORD.match(pieces[0].text)):
            continue
        whole = joined(pieces)
        body = whole.part(match.end(), len(whole.text))
        if options := _OPTIONS.match(body.text):
            body = body.part(options.end(), len(body.text))
        script, place = _heredoc(passage, body, lines, ends, place)
        yield match[1].upper(), body, script


class _Ends:
    """Where here-documents end: line numbers by content, indexed on first use."""

    def __init__(self, text: str, lines: list[tuple[int, int]]) -> None:
        self._text = text
        self._lines = lines
        self._places: dict[str, list[int]] | None = None

    def behind(self, word: str, place: int) -> int | None:
        """The first line at or after `place` that consists of this word."""
        if self._places is None:
            self._places = {}
            for number, (start, end) in enumerate(self._lines):
                self._places.setdefault(self._text[start:end].strip(), []).append(number)
        places = self._places.get(word, [])
        index = bisect_left(places, place)
        return places[index] if index < len(places) else None


def _heredoc(
    passage: Passage, body: Passage, lines: list[tuple[int, int]], ends: _Ends, place: int
) -> tuple[Passage | None, int]:
    match = _HEREDOC.search(body.text)
    end = ends.behind(match[2], place) if match else None
    if match is None or end is None:
        return None, place
    alone = not body.text[: match.start()].strip()
    return passage.part(lines[place][0], lines[end][0]) if alone else None, end + 1


def _pairs(text: str, known: Mapping[str, str | None]) -> dict[str, str | None]:
    """The variables that ENV sets: `A=1 B="x y"`, or the old form `A x y`."""
    text = re.sub(r"[\\`]\r?\n", " ", text).strip()
    first, _, rest = text.partition(" ")
    if "=" not in first:
        return {first: _expanded(rest.strip(), known)}
    try:
        words = shlex.split(text)
    except ValueError:
        return {}
    pairs = (each.partition("=") for each in words)
    return {name: _expanded(value, known) for name, equals, value in pairs if equals}


def _expanded(value: str, known: Mapping[str, str | None]) -> str | None:
    match = re.fullmatch(r"\$\{?(\w+)(?::-([^}]*))?\}?", value)
    if match:
        found = known.get(match[1])
        return match[2] if found is None else found
    return None if "$" in value else value
