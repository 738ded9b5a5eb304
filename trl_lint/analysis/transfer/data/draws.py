"""Random draws: what each rank shuffles, splits or samples with its own generator.

    random.shuffle(rows)                  rows: DRAWN, provenance=Draw(…)
    indices = torch.randperm(n)           local(rng), provenance=Draw(…)
    train, test = random_split(data, …)   both: DRAWN
    Random(seed + rank).shuffle(rows)     rows: DRAWN
    data.train_test_split(seed=42)        the same on all ranks

A draw marks its result: the rank is `DRAWN` (indices, which differ as numbers do, keep theirs), and the chain that
explains it begins with a `Draw`. The mark is kept in everything derived from it, up to the place where each rank takes
its share (`observers/random_draws.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.syntax import (
    ancestors,
    below,
    callee_of,
    is_literal_none,
    last_name,
    of_class,
    resolved,
    self_attribute,
)
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.data import data_sets
from trl_lint.domain import ranks
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.heap import Cell
from trl_lint.domain.kinds import (
    NONE,
    ContainerValue,
    LibraryInstance,
    LibraryName,
    class_name_of,
    is_none,
    library_name_of,
)
from trl_lint.domain.provenance import EitherPlace, OneByOne, Step, alternatives_of
from trl_lint.domain.ranks import Origin, State
from trl_lint.domain.values import SAME, UNKNOWN, Kind, Value
from trl_lint.knowledge import heuristics, library
from trl_lint.knowledge import random_draws as table
from trl_lint.knowledge.datasets import DATASET, is_dataset

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.knowledge.schema import Function as FunctionRow
    from trl_lint.knowledge.schema import Parameter

_TEXT = "each rank draws with its own generator here"


class Seeding:
    """The draws and seeds of a run.

    seeds: the generators that may have the same seed on all ranks so far, set by the run or its callees. apart: those
    seeded differently on each rank since. at_calls: both at each of its calls. asked_later: the calls that a library
    makes later. draws: its own draws. at_import: those that may be seeded whenever the module is imported.
    """

    def __init__(self) -> None:
        self.seeds: frozenset[str] = frozenset()
        self.apart: frozenset[str] = frozenset()
        self.at_calls: dict[tuple[int, int], tuple[frozenset[str], frozenset[str]]] = {}
        self.asked_later: set[tuple[int, int]] = set()
        self.draws: list[Draw] = []
        self.at_import: frozenset[str] = frozenset()

    def add(self, alike: frozenset[str], apart: frozenset[str] = frozenset()) -> None:
        """Generators are seeded: with a value that is, or may be, the same on all ranks; then with one that differs."""
        self.apart = (self.apart - alike) | apart
        self.seeds = (self.seeds | alike) - apart


class Draw(Step):
    """The place of a draw.

    row: its row. function: the one around it. seeded: the generators that may be seeded before. is_apart: its seed, or
    that of its generator, is rank-local. seeds, names: see `DatasetDrawn`. identity: the same each time that a function
    is run again for the same facts, as a value that an earlier run has left may remain.
    """

    __slots__ = ("function", "identity", "is_apart", "name", "names", "row", "seeded", "seeds")

    def __init__(
        self, frame: Frame, node: cst.CSTNode, name: str, row: table.DrawRow, args: Arguments, text: str = _TEXT
    ) -> None:
        super().__init__(frame.module, node, text)
        self.row = row
        self.name = name
        self.function = frame.function
        self.identity = (id(node), frame.key)
        seeding = frame.trace.notes.of(Seeding)
        self.seeded = seeding.seeds
        self.is_apart = row.generator in seeding.apart or any(_has_rank_local_seed(args, seed) for seed in row.seeds)
        self.seeds = tuple(_seeds(frame))
        self.names = frozenset(name for name, value in frame.memory.names.items() if not value.rank.differs)
        seeding.draws.append(self)


def _seeds(frame: Frame) -> Iterator[str]:
    """Expressions of a seed that is the same on all ranks: that of the trainer's arguments, or a variable named so."""
    named = [*frame.memory.names.items()]
    if frame.function is not None:
        named += frame.engine.global_names(frame.module).items()
    for name, value in named:
        if is_arguments(frame, value):
            yield f"{name}.seed"
        elif heuristics.SEED_VARIABLE.fits(name) and value.rank.state is State.SAME and value.kind is not Kind.NONE:
            yield name


def is_arguments(frame: Frame, value: Value) -> bool:
    """Whether a value is the arguments of a Trainer."""
    base = "transformers.TrainingArguments"
    if isinstance(value, LibraryInstance):
        return library.is_subclass(value.name, base, frame.engine.versions)
    return isinstance(value, ProjectInstance) and frame.engine.is_subclass(value.cls, base)


# --- what draws -----------------------------------------------------------------------------------------


def called(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> Value | None:
    """The result of a library function that draws parts, or that shuffles its argument; None for others."""
    if name in table.MADE_OF:
        result = dataset_of(frame, (name,), args, UNKNOWN)
        return None if result is UNKNOWN else result
    row = table.DRAWS.get(name)
    if row is None or row.gives == "indices" or not is_drawn(frame, row, args):
        return None
    draw = Draw(frame, node, name, row, args)
    if row.gives == "parts":
        return frame.allocate(node, Cell("list", rest=_part(name, draw)))
    _shuffle_in_place(frame, args, node, draw)
    return None


def _part(name: str, draw: Draw) -> Value:
    if name.startswith(table.DATASET_BASES):
        return LibraryInstance("torch.utils.data.Subset", ranks.DRAWN, provenance=draw)
    return Value(ranks.DRAWN, provenance=draw)


def _shuffle_in_place(frame: Frame, args: Arguments, node: cst.CSTNode, draw: Draw) -> None:
    """`random.shuffle(rows)`: from here on, the order of the list is rank-local."""
    target, value = args.expression(0), args.get(0, "x")
    if value is None or differs_otherwise(value.rank):
        return
    element = Value(ranks.DRAWN, provenance=draw)
    if isinstance(target, cst.Attribute):
        _draw_rows(frame, target, draw)
    if isinstance(value, ContainerValue):
        frame.update(value, lambda cell: Cell("list", rest=element, length=cell.length))
    elif isinstance(target, cst.Name) and target.value in frame.memory.names:
        frame.memory.names[target.value] = frame.allocate(node, Cell("list", rest=element, length=value.rank))
    elif target is not None and (name := self_attribute(target)) and _is_made_here(frame):
        owner = frame.memory.names.get("self")
        if isinstance(owner, ProjectInstance):
            shuffled = frame.allocate(node, Cell("list", rest=element, length=value.rank))
            frame.write_attribute(owner.cls, name, shuffled)


def _is_made_here(frame: Frame) -> bool:
    return frame.function is not None and frame.function.name == "__init__"


def stored(frame: Frame, target: cst.Attribute, value: Value) -> None:
    """`data.samples = random.sample(data.samples, 100)`: from here on, the rows of the data set are drawn."""
    draw = next(draws_of(frame, [value]), None)
    if draw is not None:
        _draw_rows(frame, target, draw)


def _draw_rows(frame: Frame, target: cst.Attribute, draw: Step) -> None:
    """Mark the data set of this name, if the attribute holds its rows. A class that is at work is marked as it ends."""
    name = target.value.value if isinstance(target.value, cst.Name) and not self_attribute(target) else None
    data = None if name is None else frame.memory.names.get(name)
    if name is None or data is None or differs_otherwise(data.rank) or target.attr.value not in _holders_of_rows(data):
        return
    frame.memory.names[name] = data.replace(rank=ranks.DRAWN, provenance=draw)


def _holders_of_rows(dataset: Value) -> Iterable[str]:
    """The names of the attributes that hold the rows of a data set."""
    if isinstance(dataset, LibraryInstance):
        return table.HOLDERS_OF_ROWS.get(dataset.name, ())
    if isinstance(dataset, ProjectInstance) and any(
        base.startswith(table.DATASET_BASES) for base in dataset.cls.library_bases()
    ):
        return _measured_by_len(dataset)
    return ()


def explained(frame: Frame, name: str, args: Arguments, node: cst.CSTNode, value: Value) -> Value:
    """The result of a function that draws indices or items, with the draw as its provenance."""
    row = table.DRAWS.get(name)
    if row is None or row.gives != "indices" or not value.rank.differs or not is_drawn(frame, row, args):
        return value
    if _draws_one(name.rpartition(".")[2], args):
        return value
    return value.replace(provenance=Draw(frame, node, name, row, args))


def is_drawn(frame: Frame, row: table.DrawRow, args: Arguments) -> bool:
    """Whether all ranks get here, with the same arguments, and each with its own generator."""
    if not _is_reached_by_all(frame) or args.star is not None or args.double is not None:
        return False
    seeds_given = [value for value in (args.get(*seed) for seed in row.seeds) if value is not None]
    if any(differs_otherwise(value.rank) for value in args.all() if not any(value is seed for seed in seeds_given)):
        return False
    if _is_false(args.keywords.get("shuffle")):
        return False
    return all(is_none(value) or is_rank_local_seed(value) for value in seeds_given)


def _has_rank_local_seed(args: Arguments, seed: Parameter) -> bool:
    """Whether a draw gets a rank-local seed, or a generator with one."""
    value = args.get(*seed)
    return value is not None and is_rank_local_seed(value)


def is_rank_local_seed(seed: Value) -> bool:
    """Whether a seed certainly differs on each rank; a drawn seed may come from the same state.

    The rank that a parameter stands for by its name and its default, `def set_seed(seed, rank=0)`, has no provenance.
    """
    by_clock, by_rank = (bool(seed.rank.origins & each) for each in (Origin.CLOCK, Origin.RANK))
    return seed.rank.differs and (by_clock or (by_rank and seed.provenance is not None))


def of_generator(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> None:
    """`generator.manual_seed(seed + rank)`: from here on, the generator of this name is rank-local."""
    target = callee_of(node)
    receiver = target.value if isinstance(target, cst.Attribute) else None
    if name in table.GENERATOR_METHODS and isinstance(receiver, cst.Name) and receiver.value in frame.memory.names:
        value = frame.memory.names[receiver.value]
        if any(map(is_rank_local_seed, args.all())) and not isinstance(value, LibraryName):
            frame.memory.names[receiver.value] = value.replace(rank=args.rank(), provenance=args.all()[0].provenance)


def by_own_generator(frame: Frame, name: str, args: Arguments, node: cst.CSTNode, value: Value) -> Value:
    """What a separate generator draws that each rank seeds in its own way: `random.Random(seed + rank).shuffle(rows)`.

    The order of its first argument is rank-local from here on, or that of the result is.
    """
    gives = table.DRAWN_BY_METHODS.get(name)
    made = None if gives is None or _draws_one(name, args) else _made_apart(frame, node)
    if gives is None or made is None or not is_drawn(frame, table.DrawRow(generator="", gives=gives), args):
        return value
    receiver = f"{frame.module.tree.code_for_node(made.func)}({{seed}})"
    draw = Draw(frame, node, name, table.DrawRow(generator="", gives=gives, receiver=receiver), args)
    draw.is_apart = bool(_seed_of(made))
    if gives == "indices":
        return Value(ranks.DRAWN, provenance=draw)
    _shuffle_in_place(frame, args, node, draw)
    return value


def _draws_one(name: str, args: Arguments) -> bool:
    """Whether a method draws a single thing, which is no order: `rng.choice(colours)`."""
    size = table.DRAWS_ONE_WITHOUT.get(name)
    return size is not None and is_none(args.get(*size) or NONE)


def _made_apart(frame: Frame, node: cst.CSTNode) -> cst.Call | None:
    """Where the generator that a method is called on is made, if its seed is one of this rank, or missing."""
    target = callee_of(node)
    holder = target.value if isinstance(target, cst.Attribute) else None
    made = None if holder is None else resolved(frame.root, holder)
    if not isinstance(made, cst.Call) or last_name(made.func) not in table.SEEDED_GENERATORS:
        return None
    seeds = _seed_of(made)
    if len(seeds) > 1:
        return None
    seed = frame.known_value(seeds[0]) if seeds else None
    if seed is not None:
        return made if is_rank_local_seed(seed) else None
    is_unseeded = not seeds and library_name_of(frame.engine.evaluate(frame, made.func)) in table.UNSEEDED_GENERATORS
    return made if is_unseeded and (made is holder or _is_only_drawn_from(frame.root, made, holder)) else None


def _seed_of(maker: cst.Call) -> list[cst.BaseExpression]:
    """The arguments of what makes a generator, without a literal None, which is as good as no seed."""
    return [arg.value for arg in maker.args if arg.star or not is_literal_none(arg.value)]


def _is_only_drawn_from(root: cst.CSTNode, made: cst.Call, holder: cst.BaseExpression | None) -> bool:
    """Whether a variable's generator is never given a seed, or another state, or to a function that may do so."""
    used = [each for each in of_class(root, cst.Name) if isinstance(holder, cst.Name) and each.value == holder.value]
    around = [ancestors(root, each)[-1] for each in used]
    called = [each for each in around if isinstance(each, cst.Attribute) and each.attr.value not in table.RESEEDS]
    stored = [each for each in around if isinstance(each, cst.AssignTarget)]
    return len(called) + len(stored) == len(used)


def _is_reached_by_all(frame: Frame) -> bool:
    """Whether all ranks get here, at once or one after the other, so that none reads another one's draw.

    A setting (`if args.eval_size > 0:`) is the same on all of them.
    """
    return all(
        isinstance(each.provenance, OneByOne) or each.rank.is_uniform or _is_choice(frame, each)
        for each in frame.memory.control.conditions
    )


def _is_choice(frame: Frame, condition: Control) -> bool:
    """Whether a condition chooses between two expressions, and is not known to differ between ranks."""
    if condition.uniformity is Uniformity.DIVERGENT or condition.provenance is None:
        return False
    root = frame.root
    return isinstance(next(reversed(ancestors(root, condition.provenance.node)), None), cst.IfExp)


def _is_false(value: Value | None) -> bool:
    """Whether an argument is passed, and not known to be true."""
    return value is not None and value.const is not True


def of_dataset(
    frame: Frame, row: FunctionRow, args: Arguments, node: cst.CSTNode, receiver: Value | None, value: Value
) -> Value:
    """The result of a function or method of the `datasets` library, with the draw that it comes from."""
    value = data_sets.drawn(row, args, receiver, value)
    if not row.name.startswith("datasets."):
        return value
    name = row.name.rpartition(".")[2]
    before = next(draws_of(frame, [*([receiver] if receiver is not None else []), *args.all()]), None)
    if class_name_of(value) in table.STREAMS:
        return value
    if before is not None:
        is_result = is_dataset(value) or value.rank.state is State.SAME
        return DATASET.replace(rank=ranks.DRAWN, provenance=before) if is_result and name not in table.ORDERS else value
    if not row.seeds or not is_dataset(value) or receiver is None or receiver.rank.differs or _may_differ(receiver):
        return value
    if not is_dataset(receiver):
        # Created in memory, or from an unknown source: `map` has no shared cache file.
        value = SAME if ranks.combine(receiver.rank, args.rank()).state is State.SAME else UNKNOWN
    is_named = not table.CACHED_BY_NAME.isdisjoint(args.keywords)
    draw_row = replace(table.DATASET_DRAW, seeds=row.seeds)
    if is_named or not is_drawn(frame, draw_row, args):
        return value
    return DATASET.replace(rank=ranks.DRAWN, provenance=Draw(frame, node, name, draw_row, args))


def _may_differ(receiver: Value) -> bool:
    """Whether the ranks may have different data before the draw."""
    return is_dataset(receiver) and receiver.rank.state is not State.SAME


# --- what is derived from draws -------------------------------------------------------------------------


def dataset_of(frame: Frame, bases: Iterable[str], args: Arguments, dataset: Value) -> Value:
    """A data set of a class with these bases, created from these arguments."""
    names = tuple(bases)
    if not any(base.startswith(table.DATASET_BASES) for base in names) or not table.STREAMS.isdisjoint(names):
        return dataset
    draw = next(draws_of(frame, [*args.all(), *_rows_of(frame, dataset)]), None)
    if draw is None:
        return dataset
    if dataset.kind is Kind.INSTANCE:
        return dataset.replace(rank=ranks.DRAWN, provenance=draw)
    return LibraryInstance("torch.utils.data.Subset", ranks.DRAWN, provenance=draw)


def _rows_of(frame: Frame, dataset: Value) -> Iterator[Value]:
    """The values of the attributes of the project's data set that its `__len__` measures."""
    if isinstance(dataset, ProjectInstance):
        for name in _measured_by_len(dataset):
            value = frame.read_attribute(dataset.cls, name)
            if value is not None:
                yield value


def _measured_by_len(dataset: ProjectInstance) -> Iterator[str]:
    length = dataset.cls.find("__len__")
    for node in () if length is None else below(length.node):
        match node:
            case cst.Call(
                func=cst.Name(value="len"), args=[cst.Arg(value=cst.Attribute(value=cst.Name(value="self"), attr=name))]
            ):
                yield name.value


def loaded(frame: Frame, args: Arguments, loader: Value) -> Value:
    """A loader of a data set, with the draw that the data set comes from."""
    data = args.get(0, "dataset")
    draw = None if data is None else next(draws_of(frame, [data]), None)
    return loader if draw is None else loader.replace(provenance=draw)


def draws_of(frame: Frame, values: Iterable[Value], depth: int = 2) -> Iterator[Step]:
    """The chains of these values that begin with a draw, and of what containers among them hold: rows, or records."""
    for value in values:
        if value.provenance is not None and _is_marked(value) and first_draw(value.provenance) is not None:
            yield value.provenance
        elif depth:
            yield from draws_of(frame, frame.memory.contents(value), depth - 1)


def _is_marked(value: Value) -> bool:
    """Whether a value differs between ranks only because of a draw, which may be one of files that all of them find."""
    is_drawn_only = value.rank.origins & ~Origin.IO == Origin.RNG
    return value.rank == ranks.DRAWN or value.kind is Kind.LOADER or is_drawn_only


def differs_otherwise(rank: ranks.Rank) -> bool:
    """Whether something differs between ranks by more than by what is on their disks: as a rule, the same files."""
    return rank.differs and rank.origins != Origin.IO


def first_draw(step: Step | None) -> Draw | None:
    while step is not None and step.before is not None:
        step = step.before
    if isinstance(step, EitherPlace):
        return first_draw(step.alternatives[0])
    return step if isinstance(step, Draw) else None


def all_draws(step: Step | None) -> Iterator[Draw]:
    """The draws that a value may come from, on either path."""
    while step is not None and step.before is not None and not isinstance(step, EitherPlace):
        step = step.before
    for alternative in () if step is None else alternatives_of(step):
        draw = first_draw(alternative)
        if draw is not None:
            yield draw
