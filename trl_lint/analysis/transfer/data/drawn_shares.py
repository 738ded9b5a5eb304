"""What takes shares of random draws: the places where each rank gets its part of a result that only it has drawn.

train, test = random_split(rows, (90, 10))
sampler = DistributedSampler(train)            DatasetDrawn at the split, as each rank takes its share of another list
if args.seed is None: random.shuffle(rows)     none: the code is for a run without a seed
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.events import DatasetDrawn
from trl_lint.analysis.program.syntax import ancestors
from trl_lint.analysis.transfer.data.draws import Draw, Seeding, all_draws, draws_of
from trl_lint.domain.control import Uniformity
from trl_lint.knowledge import heuristics

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


class Launched(NamedTuple):
    """A function that a launcher or a command line runs.

    seeds, apart: what its caller has seeded by then, or its process has from its caller's. is_anew: its process begins
    with nothing of that.
    """

    function: FunctionInfo
    seeds: frozenset[str]
    apart: frozenset[str]
    is_anew: bool


class Runners:
    """The functions that a launcher or a command line runs, as called in a run."""

    def __init__(self) -> None:
        self.runs: list[Launched] = []


class Fits:
    """The programs that train on what classes of a file make loaders of, each with what gives the files it imports."""

    def __init__(self) -> None:
        self.programs: dict[Module, Callable[[Module], Iterable[Module]]] = {}


def note_fit(frame: Frame, module: Module) -> None:
    """This program has a library call methods of a class in another file, which is known for itself by then."""
    module.notes.of(Fits).programs[frame.module] = frame.engine.imported
    frame.engine.note_stored("fits", module.path, frame.module.path)


def note_called(frame: Frame, function: FunctionInfo) -> None:
    """A library calls a function here, in the same process."""
    seeding = frame.trace.notes.of(Seeding)
    frame.trace.notes.of(Runners).runs.append(Launched(function, seeding.seeds, seeding.apart, is_anew=False))


def emit_draws(
    frame: Frame,
    value: Value | None,
    node: cst.CSTNode,
    text: str,
    arguments: cst.BaseExpression | None = None,
    *,
    needs_group: bool = False,
) -> None:
    """arguments, needs_group: see `DatasetDrawn`."""
    provenance = None if value is None else next(draws_of(frame, [value]), None)
    if frame.memory.control.uniformity is not Uniformity.DIVERGENT:
        for draw in all_draws(provenance):
            _emit_draw(frame, draw, node, text, arguments, needs_group)


def _emit_draw(
    frame: Frame, draw: Draw, node: cst.CSTNode, text: str, arguments: cst.BaseExpression | None, needs_group: bool
) -> None:
    is_here = draw.module is frame.module
    place = draw.node if is_here else node
    if _is_under_seed_test(frame, place):
        return  # the code is for a run without a seed
    frame.emit(
        DatasetDrawn,
        place,
        tag=id(draw.node),
        draw=draw,
        is_apart=draw.is_apart,
        row=draw.row,
        name=draw.name.rpartition(".")[2],
        use=frame.step(node, text) if is_here else draw,
        drawer=draw.function if is_here else None,
        is_here=is_here,
        arguments=arguments if draw.function is frame.function else None,
        seeds=draw.seeds,
        names=draw.names,
        needs_group=needs_group,
    )


def _is_under_seed_test(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether a condition around a place tests the seed."""
    tree = frame.module.tree
    tests = (each.test for each in ancestors(tree, node) if isinstance(each, (cst.If, cst.IfExp)))
    return any(heuristics.ASKS_FOR_SEED.fits(tree.code_for_node(test)) for test in tests)
