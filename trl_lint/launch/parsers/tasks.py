"""Task tables: `pyproject.toml`, `tox.ini` and justfiles."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trl_lint import toml
from trl_lint.launch.commands.commands import CommandContext, Commands, Unreadable
from trl_lint.launch.commands.source_map import Passage, joined, splitlines_spans
from trl_lint.launch.commands.templates import without_braces
from trl_lint.launch.parsers import shell
from trl_lint.toml import Table, Toml

LARGEST = 500_000
# How many searched characters count as one step.
SEARCHED = 2_000
# Where task runners keep their tasks: taskipy, poethepoet, PDM, Pixi, Hatch, Rye.
TABLES = (
    ("tool", "taskipy", "tasks"),
    ("tool", "poe", "tasks"),
    ("tool", "pdm", "scripts"),
    ("tool", "pixi", "tasks"),
    ("tool", "rye", "scripts"),
    ("tool", "hatch", "envs", "*", "scripts"),
    ("tool", "pixi", "feature", "*", "tasks"),
    ("tasks",),
)
_TASK_KEYS = frozenset({"cmd", "shell", "composite", "command", "sequence"})
_JUST_RECIPE = re.compile(r"[@\w][\w-]*(?:[ \t][^:=\n]+)?:(?!=)[^\n]*\Z")
_JUST_EXPORT = re.compile(r"^export[ \t]+([\w-]+)[ \t]*:=[ \t]*['\"]([^'\"\n]*)['\"][ \t]*$", re.MULTILINE)
_TOX_COMMANDS = re.compile(r"commands(?:_pre|_post)?[ \t]*=")


def pyproject(text: str) -> Commands:
    """The tasks of a `pyproject.toml` or `pixi.toml` whose text occurs in the file exactly once."""
    if len(text) > LARGEST:
        raise Unreadable(f"a TOML file of {len(text)} characters is not looked at")
    context = CommandContext("tasks")
    for task in _tasks(_document(text)):
        context.work.spend(1 + len(text) // SEARCHED, "tasks")
        place = text.find(task)
        if place >= 0 and text.find(task, place + 1) < 0:
            passage = without_braces(Passage.between(text, place, place + len(task)))
            yield from shell.read_line(passage, context)


def _document(text: str) -> Table:
    try:
        return toml.parse(text)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"no TOML: {str(error).splitlines()[0] if str(error) else type(error).__name__}") from None


def _tasks(data: Table) -> Iterator[str]:
    for table in TABLES:
        for tasks in _below(data, table):
            for value in tasks.values() if isinstance(tasks, dict) else ():
                yield from (each for each in _strings(value) if "python" in each or "uv run" in each)


def _below(data: Toml, path: tuple[str, ...]) -> Iterator[Toml]:
    if not path:
        yield data
    elif isinstance(data, dict):
        keys = data if path[0] == "*" else [path[0]] if path[0] in data else []
        for key in keys:
            yield from _below(data[key], path[1:])


def _strings(value: Toml) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)
    elif isinstance(value, dict):
        for key in (each for each in value if each in _TASK_KEYS):
            yield from _strings(value[key])


def tox(text: str) -> Commands:
    """The `commands` of a `tox.ini`."""
    inside, context = False, CommandContext("tasks")
    for start, end in splitlines_spans(text):
        line = text[start:end]
        match = _TOX_COMMANDS.match(line)
        inside = bool(match) or (inside and (line[:1] in " \t" or not line.strip()))
        if inside and line.strip() and not line.lstrip().startswith("#"):
            passage = Passage.between(text, start + (match.end() if match else 0), end)
            blanks = len(passage.text) - len(passage.text.lstrip("- \t"))
            yield from shell.read_line(without_braces(passage.part(blanks, len(passage.text))), context)


def justfile(text: str) -> Commands:
    """The recipes of a justfile: each line has its own shell; a recipe with a shebang is one script."""
    if len(text) > LARGEST:
        raise Unreadable(f"a justfile of {len(text)} characters is not looked at")
    context = CommandContext("tasks", {match[1]: match[2] for match in _JUST_EXPORT.finditer(text)})
    for lines in _recipes(text):
        pieces = [Passage.between(text, start, end) for start, end in lines]
        pieces = [each.part(len(each.text) - len(each.text.lstrip("@- \t")), len(each.text)) for each in pieces]
        first = pieces[0].text
        if first.startswith("#!") and not re.search(r"\b(?:ba|z|k)?sh\b", first):
            continue
        for script in [joined(pieces)] if first.startswith("#!") else _logical(pieces):
            yield from shell.read(without_braces(script), context)


def _recipes(text: str) -> Iterator[list[tuple[int, int]]]:
    recipe: list[tuple[int, int]] | None = None
    for start, end in [*splitlines_spans(text), (len(text), len(text))]:
        line = text[start:end]
        if recipe is not None and line.strip() and line[0] in " \t":
            recipe.append((start, end))
        elif line.strip() or start == len(text):
            if recipe:
                yield recipe
            recipe = [] if _JUST_RECIPE.match(line.rstrip("\r\n")) else None


def _logical(pieces: list[Passage]) -> Iterator[Passage]:
    """Lines joined with those that a backslash continues."""
    parts: list[Passage] = []
    for each in pieces:
        parts.append(each)
        if not each.text.rstrip("\r\n").endswith("\\"):
            yield joined(parts)
            parts = []
    if parts:
        yield joined(parts)
