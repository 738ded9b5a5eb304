"""Results of pure callables: the elements of containers count as arguments."""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.state import containers
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING
from trl_lint.domain.derived import derived
from trl_lint.domain.joins import join
from trl_lint.domain.kinds import ContainerValue, Identity, LibraryInstance, TensorValue, library_name_of
from trl_lint.domain.ranks import Rank, State
from trl_lint.domain.values import NO_WRITES, SAME, UNKNOWN, Kind, Value
from trl_lint.knowledge import heuristics
from trl_lint.knowledge.schema import IDENTITY, OWN_DEVICE


def pure_result(args: Arguments) -> Value:
    """The result of a pure callable for these arguments."""
    rank = ranks.nonlinear(args.rank())
    return derived(rank, Kind.BATCH, *args.all(), grad=True).replace(writes=NO_WRITES)


def loaded_result(frame: Frame, args: Arguments) -> Value | None:
    """The result of a tokenizer or processor for texts, tokens or images that differ between ranks; None for others."""
    flat = spread(frame, args)
    return pure_result(flat).replace(grad=False) if flat.rank().differs else None


def spread(frame: Frame, args: Arguments) -> Arguments:
    """The arguments of a pure function, with containers replaced by their elements."""
    flat = Arguments(element_of(frame, value) for value in args.positional)
    for key, value in args.keywords.items():
        flat.keywords[key] = element_of(frame, value)
    flat.positional.extend(value for value in (args.star, args.double) if value is not None)
    return flat


def element_of(frame: Frame, value: Value) -> Value:
    """The join of what a container holds, as the fact of one tensor; other values unchanged."""
    return _Flattened(frame).element_of(value, _MAX_NESTED)


_HOLDERS = (Kind.CONTAINER, Kind.ITERABLE, Kind.TUPLE)
# How deep containers are nested at most.
_MAX_NESTED = 12


class _Flattened:
    """One walk through the contents of a container: each that it holds is walked once, as one may hold itself."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._known: dict[frozenset[Identity], Value] = {}

    def element_of(self, value: Value, depth: int) -> Value:
        if value.kind not in _HOLDERS:
            return as_source(value)
        if not depth:
            return UNKNOWN
        if not isinstance(value, ContainerValue):
            return self._joined(value, depth)
        if value.identities not in self._known:
            self._known[value.identities] = UNKNOWN  # meanwhile
            self._known[value.identities] = self._joined(value, depth)
        return self._known[value.identities]

    def _joined(self, value: Value, depth: int) -> Value:
        frame = self._frame
        element, length = containers.iterate(frame, value)
        if element.rank.state is State.BOTTOM:
            element = SAME
        if element.kind in (Kind.CONTAINER, Kind.TUPLE):
            element = self.element_of(element, depth - 1)
        for each in values_of_dicts(frame, value):
            element = join(element, self.element_of(each, depth - 1))
        rank = element.rank
        if length.differs and rank.state is State.SAME:
            is_no_share = rank.is_reduced or _is_of_some_ranks(frame, value)
            rank = ranks.UNKNOWN if is_no_share else Rank(State.SHARD, length.origins)
        elif length.state is State.UNKNOWN and rank.state is State.SAME:
            rank = ranks.UNKNOWN
        elif rank.state is State.PARTIAL:
            rank = Rank(State.LOCAL, rank.origins)
        # The count of numbers that a loop has added is unknown.
        is_counted = element.kind is Kind.NUMBER and containers.positions_of(frame, value) is not None
        return element.replace(rank=rank, scalar=is_counted, const=MISSING)


def _is_of_some_ranks(frame: Frame, value: Value) -> bool:
    """Whether only some ranks have put anything into a container, as the main process does: no shares."""
    length = containers.length_on_some(frame, value)
    return length is not None and length.how == ranks.HELD


def values_of_dicts(frame: Frame, value: Value) -> Iterator[Value]:
    """The values of a dict, which iterating over it does not yield."""
    return (each for cell in frame.memory.cells(value) if cell.shape == "dict" for each in cell.values())


def as_source(value: Value) -> Value:
    """A value as a source of a string or a copy: of an object of a project class, nothing is known."""
    return UNKNOWN if isinstance(value, ProjectInstance) else value


def text_of(value: Value) -> Value:
    """A value as the source of a string: that of this process's device differs between ranks on GPUs, `id(x)` too."""
    return UNKNOWN if library_name_of(value) in _OF_PROCESS else as_source(value)


_OF_PROCESS = frozenset({IDENTITY.name, OWN_DEVICE.name})


def functional_loss(name: str, value: Value, args: Arguments) -> Value:
    """`F.cross_entropy(…)` is a mean over a rank-local count, unless `reduction` says otherwise."""
    if not (name.startswith("torch.nn.functional.") and heuristics.LOSS_FUNCTION.fits(name)):
        return value
    return _reduced_loss(value, args.keywords.get("reduction"))


def _reduced_loss(value: Value, reduction: Value | None) -> Value:
    if reduction is not None and reduction.const != "mean" and reduction.const != "sum":
        return value
    how = "sum" if reduction is not None and reduction.const == "sum" else "mean"
    rank = Rank(State.LOCAL, value.rank.origins, how) if value.rank.differs else value.rank
    return value.as_a(TensorValue, rank=rank, scalar=True, dtype="float")


def module_of(name: str, args: Arguments) -> LibraryInstance:
    """A module of torch.nn. A loss that keeps a value for each row (`reduction="none"`) counts as any other module."""
    reduction = args.keywords.get("reduction")
    is_loss_of_rows = reduction is not None and reduction.const not in ("mean", "sum")
    made = LibraryInstance(_ANY_MODULE if is_loss_of_rows else name)
    return made.replace(const=_SUMS) if reduction is not None and reduction.const == _SUMS else made


# The constant of a loss that adds up its rows.
_SUMS = "sum"
_ANY_MODULE = "torch.nn.Identity"


def module_output(module: LibraryInstance, args: Arguments) -> Value:
    """The output of a module of torch.nn for these inputs."""
    value = pure_result(args)
    if not heuristics.LOSS_CLASS.fits(module.name):
        return value
    return _reduced_loss(value, module if module.const == _SUMS else None)
