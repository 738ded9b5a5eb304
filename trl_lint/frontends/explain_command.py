"""`trl-lint explain FILE:LINE`: what the analysis knows about each name on a line, and why."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from trl_lint import files, plain
from trl_lint.findings import Position
from trl_lint.frontends.terminal import CLEAN, fail, wants_colour
from trl_lint.linter.files.discovery import display_path

if TYPE_CHECKING:
    from trl_lint.findings import Note
    from trl_lint.linter.cells.places import CodePart
    from trl_lint.linter.explaining import Fact, LineFacts
    from trl_lint.plain import Json
    from trl_lint.settings import Settings


# A line number has fewer than ten digits. A cell of a notebook is written as in findings.
_PLACE = re.compile(r"(?s)(?P<name>.+?)(?::cell (?P<cell>\d{1,9}))?:(?P<line>\d{1,9})", re.ASCII)


class Place(NamedTuple):
    """A line of a file.

    Attributes:
        cell: The number of the cell that contains it; 0 if the file has none.
        line: Its number in the file, or in the cell.
        source: The content of the module that contains the line.
        inside: The line number in that module.
        part: That module, in a notebook.
    """

    path: Path
    cell: int
    line: int
    source: bytes
    inside: int
    part: CodePart | None = None

    def __str__(self) -> str:
        return f"{display_path(self.path)}:{Position(self.line, 1, cell=self.cell).row}"


@click.command(short_help="Show what is known about each name on a line, and why.")
@click.argument("place", metavar="FILE:LINE")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path, exists=True))
@click.option("--output-format", type=click.Choice(("text", "json")), default="text", help="Output format.")
@click.option("--config", type=click.Path(path_type=Path), help="Read the settings from this file.")
@click.option("--isolated", is_flag=True, help="Ignore all settings files.")
def explain(place: str, paths: tuple[Path, ...], output_format: str, config: Path | None, isolated: bool) -> None:
    """Show what is known about each name on LINE of FILE: whether it differs between ranks, and why.

    FILE is analysed with its imports and with the nearest files of the project that import it (of the current folder,
    if nothing marks a project); PATHS adds more files.
    In a notebook, name the cell as well: `"FILE.ipynb:cell 2:LINE"`. Exits with 0, or with 2 if the line can't be
    explained.
    """
    from trl_lint.config import load_settings
    from trl_lint.linter.results import SourceError

    target = _place(place)
    settings = load_settings(target.path, config, isolated=isolated)
    try:
        known = _known(target, paths, settings)
    except SourceError as error:
        fail(display_path(target.path) + str(error).removeprefix(str(target.path)))
    show = _show_json if output_format == "json" else _show
    show(target, known)
    sys.exit(CLEAN)


def _place(text: str) -> Place:
    """The place that the user asked about; exits with a message if it is invalid."""
    match = _PLACE.fullmatch(text)
    if match is None:
        raise click.UsageError(f"`{text}` is not FILE:LINE")
    name, cell, line = match["name"], int(match["cell"] or 0), int(match["line"])
    path = Path(os.path.abspath(name))
    try:
        source = files.read(path)
    except OSError as error:
        fail(f"{name}: cannot read: {error.strerror}")
    from trl_lint.launch.parsers.readers import NOTEBOOK, front_end, is_launch_file
    from trl_lint.linter.decoding import source_lines

    if front_end(path) == NOTEBOOK:
        return _place_in_cell(name, Place(path, cell, line, source, line))
    if is_launch_file(path, source):
        fail(f"{name}: is not Python")
    if cell:
        fail(f"{name}: has no cells")
    if not 1 <= line <= len(source_lines(source)):
        fail(f"{name}: has no line {line}")
    return Place(path, 0, line, source, line)


def _place_in_cell(name: str, place: Place) -> Place:
    """A line of a notebook, with the module that its cells form."""
    from trl_lint.linter.cells.notebook import read_notebook

    document = read_notebook(place.path, place.source)
    if not document.parts:
        fail(f"{name}: {document.remark or 'is not Python'}")
    if not place.cell:
        fail(f"{name}: is a notebook: name the cell as well, as in `{name}:cell 1:{place.line}`")
    part = document.parts[0]
    inside = part.to_module(Position(place.line, 1, cell=place.cell))
    if inside is None:
        fail(f"{name}: has no line {place.line} of Python in cell {place.cell}")
    return place._replace(source=part.source, inside=inside.line, part=part)


def _known(place: Place, paths: Sequence[Path], settings: Settings) -> LineFacts:
    from trl_lint.analysis.events import Known
    from trl_lint.config import selection
    from trl_lint.linter.explaining import facts_at, facts_in_cell
    from trl_lint.linter.files.discovery import import_roots
    from trl_lint.linter.linter import Linter

    roots = import_roots(settings.root or _current_folder(place.path), [place.path, *paths])
    linter = Linter(settings, roots, selection(settings).rules, can_fix=False, extra_events=[Known])
    others = _others(paths, settings)
    if place.part is not None:
        return facts_in_cell(linter, place.part, place.inside, others)
    return facts_at(linter, place.path, place.source, place.inside, others)


def _current_folder(path: Path) -> Path | None:
    """The current folder, if the file is below it and nothing marks a project: `trl-lint .` would read its callers."""
    from trl_lint.linter.files.discovery import is_in_project

    here = Path.cwd()
    return here if path.is_relative_to(here) and not is_in_project(path) else None


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


def _show(place: Place, known: LineFacts) -> None:
    from trl_lint.linter.decoding import source_lines

    colour = wants_colour(sys.stdout)
    text = place.source if place.part is None else place.part.texts[place.cell].encode("utf-8", "surrogatepass")
    line = source_lines(text)[place.line - 1].strip()
    for piece in _text(place, line, known, colour):
        click.echo(piece, color=colour)


def _text(place: Place, line: str, known: LineFacts, colour: bool) -> Iterator[str]:
    def styled(text: str, **style: str | bool) -> str:
        return click.style(plain.line(text), **style) if colour else plain.line(text)  # type: ignore[arg-type]

    def facts(found: Sequence[Fact]) -> Iterator[str]:
        for fact in found:
            yield f"  {'- ' * (len(found) > 1)}{plain.line(fact.text)}"
            for note in fact.because:
                where = styled(f" ({display_path(note.path)}:{note.start.row})", dim=True)
                yield f"      {styled('because:', fg='cyan')} {plain.line(note.text)}{where}"

    yield f"{styled(f'{place}:', bold=True)} {plain.line(line)}"
    if not known.reached:
        yield "  no code on this line runs, according to the analysis"
    yield from facts(known.reached)
    once = {(each.name, each.facts): each for each in known.names}.values()
    for found, names in groupby(once, key=lambda each: each.facts):
        yield ""
        yield styled(", ".join(f"`{each.name}`" for each in names), bold=True)
        yield from facts(found)


def _show_json(place: Place, known: LineFacts) -> None:
    document: dict[str, Json] = {
        "filename": str(place.path),
        "cell": place.cell or None,
        "line": place.line,
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
    path, cell = os.path.abspath(note.path), note.start.cell or None
    return {"message": note.text, "filename": path, "cell": cell, "location": _position(note.start)}


def _position(place: Position) -> Json:
    return {"row": place.line, "column": place.column}
