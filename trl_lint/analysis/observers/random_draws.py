"""Random draws: who uses what each rank has drawn by itself, and what seeds the generators.

    train, test = random_split(data, …)
    Trainer(train_dataset=train)          DatasetDrawn: each rank takes its share of another list
    set_seed(42)                          before the split: none, all generators draw the same

`transfer/data/draws.py` marks the result of a draw. Which generators have been seeded by then is determined by a walk
over the calls of the whole program, once all runs are known.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.events import DatasetDrawn, Event
from trl_lint.analysis.program.definitions.notebooks import starts_from_kernel
from trl_lint.analysis.program.definitions.objects import FunctionValue
from trl_lint.analysis.program.definitions.parameter_uses import is_none_by_default
from trl_lint.analysis.program.syntax import ancestors, callee_of, is_main_guard, last_name
from trl_lint.analysis.state.event_trace import called_traces
from trl_lint.analysis.state.observing import Observer
from trl_lint.analysis.transfer.data.dealt_rows import dealt
from trl_lint.analysis.transfer.data.drawn_shares import Fits, Launched, Runners, emit_draws
from trl_lint.analysis.transfer.data.draws import Draw, Seeding, is_rank_local_seed
from trl_lint.analysis.transfer.data.places_of_shares import cut_rows, dealt_in, is_rank
from trl_lint.domain.constants import WORLD_SIZE
from trl_lint.domain.control import Uniformity
from trl_lint.domain.kinds import LibraryName, library_name_of
from trl_lint.domain.ranks import Origin
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge import heuristics, library
from trl_lint.knowledge import random_draws as table
from trl_lint.knowledge.engines import READS_JOB, STARTS_GROUP
from trl_lint.knowledge.schema import Function, Transfer
from trl_lint.knowledge.sharding import OF_SHARD, SPLITS
from trl_lint.knowledge.sharding import SHARD as DATASET_SHARD

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.event_trace import EventTrace
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.analysis.state.observing import CalleeRun
    from trl_lint.domain.control import Control
    from trl_lint.domain.provenance import Step
    from trl_lint.knowledge.schema import Parameter, Row

_TAKES_SHARE = "each rank takes its share of it here"


class RandomDraws(Observer["Frame"]):
    emits = frozenset({DatasetDrawn})
    statements = (cst.Assign, cst.Expr, cst.For, cst.Return)

    def on_library_call(self, frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
        _note_seeding(frame, name, args, node)
        _note_run(frame, name, args)
        split = SPLITS.get(name)
        if split is not None:
            _emit_split(frame, args.get(0, "dataset"), args, split, node)

    def on_method_call(self, frame: Frame, receiver: Value, name: str, args: Arguments, node: cst.CSTNode) -> None:
        if name == DATASET_SHARD:
            _emit_split(frame, receiver, args, OF_SHARD, node)

    def on_unknown_call(self, frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
        func = node.func if isinstance(node, cst.Call) else None
        if _may_seed(frame, func, args):
            _note_seeds(frame, node, table.ALL)

    def on_project_call(self, frame: Frame, function: FunctionInfo, run: CalleeRun, node: cst.CSTNode) -> None:
        if run.trace is frame.trace:
            return
        seeding = frame.trace.notes.of(Seeding)
        seeding.at_calls.setdefault((id(node), id(function)), (seeding.seeds, seeding.apart))
        if function.name == table.ASKED_LATER and last_name(callee_of(node)) != table.ASKED_LATER:
            seeding.asked_later.add((id(node), id(function)))
        called = run.trace.notes.of(Seeding)
        _note_seeds(frame, node, called.seeds, called.apart)

    def on_instantiate(self, frame: Frame, base: str, args: Arguments, node: cst.CSTNode) -> None:
        """Emit an event if the object takes this rank's share of a data set that was drawn."""
        if frame.engine.class_row(base) is None:
            return
        shared = table.SHARDS.get(base)
        if shared is not None:
            _emit_rank_local_shuffle(frame, args, node)
            needs_group = args.star is None and args.double is None and args.get(*table.SHARES) is None
            emit_draws(frame, args.get(*shared), node, _TAKES_SHARE, needs_group=needs_group)
        elif library.is_subclass(base, table.TRAINER, frame.engine.versions):
            for name in table.TRAINED_ON:
                for value in _alternatives(frame, args, name):
                    emit_draws(
                        frame, value, node, f"each rank takes its share of `{name}` here", args.expression("args")
                    )
            frame.trace.notes.of(Seeding).add(table.ALL)

    def on_statement(self, frame: Frame, statement: cst.CSTNode, before: Control) -> None:
        """Rows are dealt by hand: `rows = rows[rank::world_size]`, `for row in rows[rank::world_size]:`."""
        if isinstance(statement, cst.For):
            for rows in dealt_in(frame, statement):
                emit_draws(frame, frame.known_value(rows), statement.iter, _TAKES_SHARE, needs_group=True)
        match statement:
            case cst.Assign(value=value) | cst.Return(value=value) | cst.Expr(value=value) | cst.For(iter=value):
                for share, rows in _shares(frame, value):
                    if dealt(frame, share) is not None:
                        drawn = frame.known_value(rows)
                        emit_draws(frame, drawn, share, _TAKES_SHARE, needs_group=True)

    def on_row(
        self, frame: Frame, name: str, row: Row | None, args: Arguments, node: cst.CSTNode, receiver: Value | None
    ) -> None:
        """Loaders are prepared: each rank gets its share of their batches. Or a list is split between the ranks."""
        if not isinstance(row, Function) or args.star is not None:
            return
        if row.returns == Transfer.PREPARED:
            for value in args.positional:
                if value.kind is Kind.LOADER:
                    emit_draws(frame, value, node, _TAKES_SHARE)
        elif row.yields == Transfer.SHARD:
            emit_draws(frame, args.get(0, "inputs"), node, _TAKES_SHARE)

    def settled(self, events: list[Event], program: EventTrace, imported: Iterable[Module]) -> list[Event]:
        """Remove the draws before which a program may have seeded, and those that no program is known to make."""
        if not any(isinstance(event, DatasetDrawn) for event in events):
            return events
        made, is_alone = _made_by(program, imported), _has_no_group(program, imported)
        return [
            replace(event, is_apart=True) if isinstance(event, DatasetDrawn) and made.is_apart(event.draw) else event
            for event in events
            if not (is_alone and isinstance(event, DatasetDrawn) and event.needs_group)
            if not isinstance(event, DatasetDrawn)
            or event.is_apart
            or made.is_unseeded(event.draw)
            or _is_unseeded_elsewhere(event)
        ]


# --- who uses a draw ------------------------------------------------------------------------------------


def _alternatives(frame: Frame, args: Arguments, name: str) -> Iterator[Value]:
    """The values that an argument may have: `drawn if evaluate else None` is drawn, or missing."""
    expression = args.expression(name)
    if isinstance(expression, cst.IfExp):
        yield from (
            frame.node_values[id(branch)]
            for branch in (expression.body, expression.orelse)
            if id(branch) in frame.node_values
        )
    elif name in args.keywords:
        yield args.keywords[name]


def _shares(frame: Frame, value: cst.CSTNode | None) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression]]:
    """What may take some of the rows in an expression, or in what its calls are passed or called on, with the rows.

    For example, `iter(order[rank::size].tolist())`.
    """
    match value:
        case cst.Subscript(value=rows, slice=[cst.SubscriptElement(slice=cst.Slice())]):
            yield value, rows
        case cst.Subscript() if (whole := cut_rows(frame, value)) is not None:
            yield value, whole
        case cst.ListComp(for_in=cst.CompFor(iter=cst.Call(args=[cst.Arg(value=rows), *_]), ifs=[_, *_])):
            yield value, rows
        case cst.Call(func=func, args=args):
            if isinstance(func, cst.Attribute):
                yield from _shares(frame, func.value)
            for each in args:
                yield from _shares(frame, each.value)
        case cst.Yield(value=cst.From(item=inner)):
            yield from _shares(frame, inner)


def _emit_split(
    frame: Frame,
    rows: Value | None,
    args: Arguments,
    parameters: tuple[Parameter, Parameter],
    node: cst.CSTNode,
) -> None:
    """`rows.shard(size, rank)`, `split_dataset_by_node(rows, rank, size)`: a rank takes its rows by its number."""
    rank, size = (args.get(*each) for each in parameters)
    if is_rank(rank) and size is not None and size.const is WORLD_SIZE:
        emit_draws(frame, rows, node, _TAKES_SHARE, needs_group=True)


def _emit_rank_local_shuffle(frame: Frame, args: Arguments, node: cst.CSTNode) -> None:
    """`DistributedSampler(rows, seed=rank)`: it takes this rank's share of an order that only this rank has."""
    seed, size = args.get(4, "seed"), args.get(1, "num_replicas")
    if seed is None or not is_rank_local_seed(seed) or seed.provenance is None or not isinstance(node, cst.Call):
        return
    if not isinstance(frame.engine.evaluate(frame, node.func), LibraryName):
        return  # a sampler of the project may use a seed differently
    shuffle = args.get(3, "shuffle")
    is_whole = size is None or size.const is WORLD_SIZE
    if not is_whole or (shuffle is not None and shuffle.const is not True):
        return
    row = table.DrawRow(generator="", gives="", seeds=((-1, "seed"),), keyword="seed={seed}")
    draw = Draw(frame, node, table.ORDER, row, args, "each rank shuffles with its own seed here")
    frame.emit(DatasetDrawn, node, draw=draw, is_apart=True, row=row, name=table.ORDER, use=seed.provenance)


# --- what seeds -----------------------------------------------------------------------------------------


def _note_seeding(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
    last = name.rpartition(".")[2]
    generators = table.SEEDERS.get(name)
    if generators is None and heuristics.SEEDS_ALL.fits(last):
        generators = table.ALL
    per_rank = args.keywords.get(table.PER_RANK_KEYWORD)
    if not generators:
        return
    is_apart = any(map(is_rank_local_seed, args.all()))
    may_be_alike = not args.rank().differs or (args.rank().origins == Origin.RANK and not is_apart)
    if (may_be_alike or _is_from_caller(frame, args, node)) and (per_rank is None or per_rank.const is not True):
        _note_seeds(frame, node, generators)
    elif frame.memory.control.uniformity is Uniformity.UNIFORM and (is_apart or may_be_alike):
        _note_seeds(frame, node, frozenset(), generators)


def _note_seeds(frame: Frame, node: cst.CSTNode, alike: frozenset[str], apart: frozenset[str] = frozenset()) -> None:
    seeding = frame.trace.notes.of(Seeding)
    seeding.add(alike, apart)
    if frame.function is None and not _is_under_main_guard(frame, node):
        seeding.at_import |= alike


def _is_under_main_guard(frame: Frame, node: cst.CSTNode) -> bool:
    return any(isinstance(each, cst.If) and is_main_guard(each.test) for each in ancestors(frame.root, node))


def _is_from_caller(frame: Frame, args: Arguments, node: cst.CSTNode) -> bool:
    """Whether a seed is passed by the caller, or drawn if missing: `if seed is None: seed = random.getrandbits(32)`.

    The caller's argument must be unknown: if it were known whether it is None, only one of the two cases would remain.
    """
    first = node.args[0].value if isinstance(node, cst.Call) and node.args else None
    if first is None or not is_none_by_default(frame.function, first):
        return False
    return args.rank().origins == Origin.RNG and all(each.kind is Kind.UNKNOWN for each in args.positional)


def _may_seed(frame: Frame, func: cst.BaseExpression | None, args: Arguments) -> bool:
    """Whether code whose source is not available may seed, going by its name and its arguments."""
    name = getattr(getattr(func, "attr", func), "value", "")
    if not isinstance(name, str) or (isinstance(func, cst.Attribute) and name in table.GENERATOR_METHODS):
        return False
    by_name = heuristics.SEEDS_ALL.fits(name) or (
        heuristics.SETS_UP.fits(name) and _library_of(frame, func) not in table.SET_UP_WITHOUT_SEEDING
    )
    by_argument = any(map(heuristics.SEED_ARGUMENT.fits, args.keywords))
    return by_name or (by_argument and _library_of(frame, func) not in table.DO_NOT_SEED)


def _library_of(frame: Frame, func: cst.BaseExpression | None) -> str:
    """The library that a function comes from; "" if that is unknown."""
    while isinstance(func, cst.Attribute):
        func = func.value
    value = frame.engine.lookup(frame, func.value) if isinstance(func, cst.Name) else None
    return library_name_of(value).partition(".")[0]


def _note_run(frame: Frame, name: str, args: Arguments) -> None:
    """A launcher, or the command line, is passed the function that is the program."""
    position = table.RUNNERS.get(name)
    if position is not None and len(args.positional) > position:
        value = args.positional[position]
        if isinstance(value, FunctionValue):
            seeding = frame.trace.notes.of(Seeding)
            is_anew = name in table.BEGIN_ANEW and args.get(*table.START_METHOD) is None
            copied = table.COPIED if name in table.LAUNCHERS else frozenset[str]()
            launched = Launched(value.function, seeding.seeds | copied, seeding.apart - copied, is_anew)
            frame.trace.notes.of(Runners).runs.append(launched)


# --- the whole program ----------------------------------------------------------------------------------


def _has_no_group(program: EventTrace, imported: Iterable[Module]) -> bool:
    """Whether nothing in the files that a program imports and reaches may start a process group.

    To read the size of the job starts none: a file of data sets may do so, for the programs that import it.
    """
    reached = (each.module for each in called_traces(program))
    files = {*imported, *(each for each in reached if each is not None)}
    return not any(STARTS_GROUP.search(READS_JOB.sub(b"", each.code.lower())) for each in files)


def _is_unseeded_elsewhere(event: DatasetDrawn) -> bool:
    """Whether a program of another file, which trains on what this one makes loaders of, has not seeded before."""
    fits = event.module.notes.of(Fits).programs
    traces = ((program.trace, imported(program)) for program, imported in fits.items())
    return any(trace is not None and _made_by(trace, files).is_unseeded(event.draw) for trace, files in traces)


class _MadeDraws:
    """The draws that a program makes: those before which it may have seeded, and the others.

    apart: the draws of which each rank has seeded the generator differently before, in a function above it.
    """

    def __init__(self) -> None:
        self.seeded: set[Hashable] = set()
        self.unseeded: set[Hashable] = set()
        self.apart: set[int] = set()
        self.not_apart: set[int] = set()

    def add(self, draws: Iterable[Draw], seeds: frozenset[str], apart: frozenset[str], in_kernel: bool) -> None:
        """in_kernel: whether the kernel of a notebook makes them, for all ranks that it starts."""
        seeds = table.ALL if in_kernel else seeds
        for draw in draws:
            found = self.seeded if draw.row.generator in seeds | draw.seeded else self.unseeded
            found.update((draw.identity, id(draw.node)))
            (self.apart if draw.row.generator in apart else self.not_apart).add(id(draw.node))

    def is_apart(self, draw: Step) -> bool:
        """Whether all that make a draw have seeded it differently on each rank."""
        return id(draw.node) in self.apart - self.not_apart

    def is_unseeded(self, draw: Step) -> bool:
        """Whether the program makes a draw before it has seeded.

        One of the same call in another program may stand for the program's own: what both leave in an attribute is
        joined.
        """
        if not isinstance(draw, Draw):
            return False
        is_own = draw.identity in self.seeded or draw.identity in self.unseeded
        return (draw.identity if is_own else id(draw.node)) in self.unseeded


def _made_by(program: EventTrace, imported: Iterable[Module]) -> _MadeDraws:
    """The draws that a program makes; its imports may seed as well."""
    found = _MadeDraws()
    nothing = frozenset[str]()
    visited: set[tuple[int, frozenset[str], frozenset[str], bool]] = set()
    traces = [module.trace for module in imported if module.trace is not None]
    before = nothing.union(*(trace.notes.of(Seeding).seeds for trace in traces))
    anew = before | program.notes.of(Seeding).at_import
    # A loader asks its sampler when a loop begins: by then the program may have seeded whatever it seeds at all.
    asked_later = before | program.notes.of(Seeding).seeds
    todo = [(program, before, nothing, starts_from_kernel(program.module))]
    while todo:
        trace, seeds, apart, in_kernel = todo.pop()
        if (id(trace), seeds, apart, in_kernel) in visited:
            continue
        visited.add((id(trace), seeds, apart, in_kernel))
        seeding = trace.notes.of(Seeding)
        found.add(seeding.draws, seeds, apart, in_kernel)
        for edge, summary in trace.calls.items():
            seeded, differently = seeding.at_calls[edge[:2]]
            seeded |= asked_later if edge[:2] in seeding.asked_later else nothing
            todo.append((summary.trace, (seeds | seeded) - differently, (apart - seeded) | differently, in_kernel))
        # What a kernel starts are copies of it, also where a library does so.
        of_kernel = table.COPIED if in_kernel else nothing
        for run in trace.notes.of(Runners).runs:
            copied = ((seeds | run.seeds | of_kernel) - run.apart, (apart - run.seeds) | run.apart)
            at_start = (anew, nothing) if run.is_anew else copied
            todo += [(summary.trace, *at_start, False) for summary in run.function.summaries.values()]
    return found


OBSERVER = RandomDraws()
