"""`trl-lint explain FILE:LINE`: what the analysis knows of each name on a line, and why."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from trl_lint import files, plain
from trl_lint.frontends.terminal import CLEAN, fail, wants_colour
from trl_lint.linter.files.discovery import display_path

if TYPE_CHECKING:
    from trl_lint.findings import Note, Position
    from trl_lint.linter.explaining import Fact, LineFacts
    from trl_lint.plain import Json
    from trl_lint.settings import Settings


# The number of a line has fewer.
_DIGITS = 10


class Place(NamedTuple):
    """A line of a file, which is counted from 1, and the file's content."""

    path: Path
    line: int
    source: bytes


@click.command(short_help="Show what is known about each name on a line, and why.")
@click.argument("place", metavar="FILE:LINE")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option("--output-format", type=click.Choice(("text", "json")), default="text", help="Output format.")
@click.option("--config", type=click.Path(path_type=Path), help="Read the settings from this file.")
@click.option("--isolated", is_flag=True, help="Ignore all settings files.")
def explain(place: str, paths: tuple[Path, ...], output_format: str, config: Path | None, isolated: bool) -> None:
    """Say what is known of each name on LINE of FILE: whether it differs between ranks, and what makes it so.

    FILE is analysed with what it imports and with the nearest files of the project that import it; PATHS are more of
    these. Exits with 0, or with 2 when the line can't be explained.
    """
    from trl_lint.config import load_settings
    from trl_lint.linter.results import SourceError

    asked = _place(place)
    settings = load_settings(asked.path, config, isolated=isolated)
    try:
        known = _known(asked, paths, settings)
    except SourceError as error:
        fail(display_path(asked.path) + str(error).removeprefix(str(asked.path)))
    show = _show_json if output_format == "json" else _show
    show(asked, known)
    sys.exit(CLEAN)


def _place(given: str) -> Place:
    """What the user has asked for; ends with a line that says what is wrong with it."""
    name, colon, number = given.rpartition(":")
    if not (colon and name and number.isdecimal() and len(number) < _DIGITS):
        raise click.UsageError(f"`{given}` is not FILE:LINE")
    path = Path(os.path.abspath(name))
    try:
        source = files.read(path)
    except OSError as error:
        fail(f"{name}: cannot read: {error.strerror}")
    from trl_lint.launch.parsers.readers import is_launch_file
    from trl_lint.linter.comments.suppressions import source_lines

    if is_launch_file(path, source):
        fail(f"{name}: is not Python")
    if not 1 <= int(number) <= len(source_lines(source)):
        fail(f"{name}: has no line {number}")
    return Place(path, int(number), source)


def _known(asked: Place, paths: Sequence[Path], settings: Settings) -> LineFacts:
    from trl_lint.analysis.events import Known
    from trl_lint.config import selection
    from trl_lint.linter.explaining import facts_at
    from trl_lint.linter.files.discovery import import_roots
    from trl_lint.linter.linter import Linter

    roots = import_roots(settings.root, [asked.path, *paths])
    linter = Linter(settings, roots, selection(settings).rules, mends=False, asks=[Known])
    return facts_at(linter, asked.path, asked.source, asked.line, _others(paths, settings))


def _others(paths: Sequence[Path], settings: Settings) -> Iterator[tuple[Path, bytes]]:
    """The files that are analysed as well."""
    from trl_lint.linter.files.discovery import PathProblem, find_files

    for found in find_files(paths, root=settings.root, exclude=settings.exclude) if paths else ():
        if isinstance(found, PathProblem):
            fail(f"{display_path(found.path)}: {found.message}")
        path = Path(os.path.abspath(found))
        try:
            yield path, files.read(path)
        except OSError as error:
            fail(f"{display_path(path)}: cannot read: {error.strerror}")


def _show(asked: Place, known: LineFacts) -> None:
    from trl_lint.linter.comments.suppressions import source_lines

    colour = wants_colour(sys.stdout)
    line = source_lines(asked.source)[asked.line - 1].strip()
    for piece in _text(asked, line, known, colour):
        click.echo(piece, color=colour)


def _text(asked: Place, line: str, known: LineFacts, colour: bool) -> Iterator[str]:
    def styled(text: str, **style: str | bool) -> str:
        return click.style(plain.line(text), **style) if colour else plain.line(text)  # type: ignore[arg-type]

    def facts(found: Sequence[Fact]) -> Iterator[str]:
        for fact in found:
            yield f"  {'- ' * (len(found) > 1)}{plain.line(fact.text)}"
            for note in fact.because:
                where = styled(f" ({display_path(note.path)}:{note.start.line})", dim=True)
                yield f"      {styled('because:', fg='cyan')} {plain.line(note.text)}{where}"

    yield f"{styled(f'{display_path(asked.path)}:{asked.line}:', bold=True)} {plain.line(line)}"
    if not known.reached:
        yield "  no code on this line runs, according to the analysis"
    yield from facts(known.reached)
    for found, names in groupby(known.names, key=lambda each: each.facts):
        yield ""
        yield styled(", ".join(dict.fromkeys(f"`{each.name}`" for each in names)), bold=True)
        yield from facts(found)


def _show_json(asked: Place, known: LineFacts) -> None:
    document: dict[str, Json] = {
        "filename": str(asked.path),
        "line": asked.line,
        "reached": _rows(known.reached),
        "names": [
            {
                "name": each.name,
                "location": _position(each.start),
                "end_location": _position(each.end),
                "facts": _rows(each.facts),
            }
            for each in known.names
        ],
    }
    json.dump(plain.in_json(document), sys.stdout, indent=2)
    click.echo()


def _rows(facts: Sequence[Fact]) -> Json:
    return [{"fact": each.text, "because": [_step(note) for note in each.because]} for each in facts]


def _step(note: Note) -> Json:
    return {"message": note.text, "filename": os.path.abspath(note.path), "location": _position(note.start)}


def _position(place: Position) -> Json:
    return {"row": place.line, "column": place.column}
