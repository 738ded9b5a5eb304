"""What the analysis knows at a line: the facts about the names on it, and the steps that led to each.

`trl-lint explain FILE:LINE` prints it, and an editor shows it on hover. If a function is called in several contexts, a
name may have several facts; each is listed once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint.findings import Note, Position
from trl_lint.linter.results import SourceError

if TYPE_CHECKING:
    import libcst as cst
    from libcst.metadata import CodeRange

    from trl_lint.analysis.events import Known
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.domain.control import Control
    from trl_lint.domain.provenance import Step
    from trl_lint.domain.values import Value
    from trl_lint.linter.cells.places import CodePart
    from trl_lint.linter.linter import Linter


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact. text: what is known. because: the places that led to it, starting at its source."""

    text: str
    because: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class NameFacts:
    """The facts about one expression, one for each distinct context in which its line is reached."""

    name: str
    start: Position
    end: Position
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class LineFacts:
    """What is known at a line. reached: which ranks reach it; empty if the analysis finds that no process does."""

    reached: tuple[Fact, ...]
    names: tuple[NameFacts, ...]


def facts_at(
    linter: Linter, path: Path, source: bytes, line: int, others: Iterable[tuple[Path, bytes]] = ()
) -> LineFacts:
    """What is known at a line of a file, counted from 1.

    linter: one created for this question (`extra_events=[Known]`). others: files that are analysed as well, for what
    they pass to this one.

    Raises:
        SourceError: the file can't be decoded or parsed.
    """
    from trl_lint.wording.facts import tells

    module = linter.parsed(path, source)
    places = _places(module)
    nodes_at_line = _nodes_with_values(module, places, line)
    module.asked = {id(statement): tuple(nodes) for statement, nodes in nodes_at_line.values()}
    other_modules = {name: code for other in others for name, code in linter.modules(*other).items()}
    linter.analyse({**({path: source} if linter.may_matter(source) else {}), **other_modules})
    events = linter.known(path, source)
    found: dict[int, dict[Fact, None]] = defaultdict(dict)
    reached: dict[Fact, None] = {}
    for event in events:
        reached[_reached(event)] = None
        for node, value in event.values:
            if tells(value):
                found[id(node)][_fact(value)] = None
    nodes = (node for _, each in nodes_at_line.values() for node in each)
    names = (_named(module, places, node, found[id(node)]) for node in nodes if id(node) in found)
    return LineFacts(tuple(reached), tuple(sorted(names, key=lambda each: (each.start, each.end))))


def facts_in_cell(linter: Linter, part: CodePart, line: int, others: Iterable[tuple[Path, bytes]] = ()) -> LineFacts:
    """What is known at a line of a notebook's module, with places in its cells; see `facts_at`.

    Raises:
        SourceError: a cell is not valid Python.
    """
    from trl_lint.linter.cells.linting import error_in_file
    from trl_lint.linter.cells.places import moved_notes

    def move(path: str, place: Position) -> tuple[str, Position]:
        return path, part.to_file(place) if path == str(part.path) else place

    def moved(facts: Iterable[Fact]) -> tuple[Fact, ...]:
        return tuple(Fact(each.text, moved_notes(each.because, move)) for each in facts)

    try:
        known = facts_at(linter, part.path, part.source, line, others)
    except SourceError as error:
        raise error_in_file(part, error) from None
    names = (
        NameFacts(each.name, part.to_file(each.start), part.to_file(each.end), moved(each.facts))
        for each in known.names
    )
    return LineFacts(moved(known.reached), tuple(names))


def _places(module: Module) -> Mapping[cst.CSTNode, CodeRange]:
    from trl_lint.linter.locate import positions

    places = positions(module)
    len(places)  # compute all of them: it is unknown which nodes are on the line
    return places


def _named(
    module: Module, places: Mapping[cst.CSTNode, CodeRange], node: cst.CSTNode, facts: Iterable[Fact]
) -> NameFacts:
    from trl_lint.wording.shown_code import shown_source

    place = places[node]
    start, end = (Position(each.line, each.column + 1) for each in (place.start, place.end))
    return NameFacts(shown_source(module, node), start, end, tuple(facts))


def _fact(value: Value) -> Fact:
    from trl_lint.wording.facts import fact_of

    return Fact(fact_of(value), _because(value.provenance))


def _reached(event: Known) -> Fact:
    from trl_lint.wording.facts import reached_of

    return Fact(reached_of(event.reached), _because(_reason(event.reached)))


def _reason(reached: Control) -> Step | None:
    """The first of the most uncertain conditions; none if these are only settings, which all ranks share."""
    from trl_lint.domain import ranks

    worst = (each for each in reached.conditions if each.uniformity is reached.uniformity)
    found: Step | None = next((each.provenance for each in worst if each.rank != ranks.SETTING), None)
    return found


def _because(provenance: Step | None) -> tuple[Note, ...]:
    from trl_lint.domain.provenance import steps
    from trl_lint.linter.locate import notes_of

    return notes_of(steps(provenance))


# --- which expressions -------------------------------------------------------------------------------------


def _nodes_with_values(
    module: Module, places: Mapping[cst.CSTNode, CodeRange], line: int
) -> dict[int, tuple[cst.CSTNode, list[cst.CSTNode]]]:
    """The expressions that start on a line, grouped by the statement that has to run for them to have a value."""
    found: dict[int, tuple[cst.CSTNode, list[cst.CSTNode]]] = {}
    for node, statement in _expressions(module.tree):
        if places[node].start.line == line:
            found.setdefault(id(statement), (statement, []))[1].append(node)
    if not found:
        for statement in _statements(module.tree):
            if places[statement].start.line == line:
                found[id(statement)] = (statement, [])
    return found


def _statements(tree: cst.Module) -> Iterator[cst.CSTNode]:
    import libcst as cst

    from trl_lint.analysis.program.syntax import below

    return (node for node in below(tree) if isinstance(node, (cst.BaseSmallStatement, cst.BaseCompoundStatement)))


def _expressions(tree: cst.Module) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """The expressions whose values are of interest, each with the statement after which its value is known.

    Parameters have theirs once the first statement of the body has run; an `elif` belongs to its `if`.
    """
    import libcst as cst

    from trl_lint.analysis.program.syntax import below, children

    def visit(node: cst.CSTNode, statement: cst.CSTNode | None) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
        if isinstance(node, cst.FunctionDef):
            first = _first_statement(node.body)
            parameters = [each.name for each in below(node.params) if isinstance(each, cst.Param)]
            yield from ((name, first) for name in parameters if first is not None)
            yield from visit(node.body, None)
            return
        if isinstance(node, (cst.Import, cst.ImportFrom, cst.Annotation, cst.Lambda)):
            return
        if isinstance(node, (cst.BaseSmallStatement, cst.BaseCompoundStatement)) and statement is None:
            statement = node
        if statement is not None and isinstance(node, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)):
            yield node, statement
        for each, inner in _parts(node, statement, children(node)):
            yield from visit(each, inner)

    return visit(tree, None)


def _parts(
    node: cst.CSTNode, statement: cst.CSTNode | None, inside: Iterable[cst.CSTNode]
) -> Iterator[tuple[cst.CSTNode, cst.CSTNode | None]]:
    """The parts of a node that contain expressions with values, each with its statement."""
    import libcst as cst

    for each in inside:
        if isinstance(node, cst.Attribute) and each is node.attr:
            continue
        if isinstance(node, cst.Arg) and each is node.keyword:
            continue
        if isinstance(node, cst.Call) and each is node.func:
            # Of `loss.mean()` the loss counts; of `model(…)` the name may.
            yield (each.value if isinstance(each, cst.Attribute) else each), statement
            continue
        yield each, None if isinstance(each, cst.BaseSuite) else statement


def _first_statement(body: cst.BaseSuite) -> cst.CSTNode | None:
    import libcst as cst

    first = body.body[0] if body.body else None
    return first.body[0] if isinstance(first, cst.SimpleStatementLine) else first
