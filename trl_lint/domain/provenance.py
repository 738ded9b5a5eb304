"""Provenance: the places that explain a fact, newest first."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from libcst import CSTNode
    from libcst import Module as Tree
    from libcst.metadata import CodeRange

    from trl_lint.domain.ranks import Rank


class SourceModule(Protocol):
    """A parsed file: what the explanation of a fact needs of it, and whether it has some text."""

    path: Path
    tree: Tree
    # The range of every node; None until one is needed.
    positions: Mapping[CSTNode, CodeRange] | None
    # In an editor: what is now in the place of nodes of an earlier text, by the id of the node.
    replaced: Mapping[int, CSTNode]

    @property
    def text(self) -> str: ...

    @property
    def code(self) -> bytes: ...

    def mentions(self, pattern: bytes) -> bool: ...


@dataclass(slots=True, eq=False, repr=False)
class Step:
    """One place in the chain that explains a fact: newest first, linked to the one before.

    `{}` in the text is replaced by the source of the node, which is only looked up when the step is shown.
    """

    module: SourceModule
    node: CSTNode
    text: str
    before: Step | None = None

    def preceded_by(self, before: Step | None) -> Step:
        """This place, with another chain before it."""
        return replace(self, before=before)


@dataclass(slots=True, eq=False, repr=False)
class StartedLater(Step):
    """The process group is started here, after a condition that asks for it and holds on all ranks until then."""


@dataclass(slots=True, eq=False, repr=False)
class Evaluated(Step):
    """Rank-local batches are iterated over, in `loop`, without training."""

    loop: CSTNode | None = None


@dataclass(slots=True, eq=False, repr=False)
class Prepared(Step):
    """`prepare` returns a wrapped model or a loader, which only its use shows.

    as_model, as_loader: the step once this is known. Each is created only once, as chains are compared by identity.
    full: whether it drops incomplete batches if it is a loader.
    """

    full: bool = False
    _as_model: Step | None = field(default=None, init=False)
    _as_loader: Step | None = field(default=None, init=False)

    @property
    def as_model(self) -> Step:
        if self._as_model is None:
            self._as_model = Step(self.module, self.node, "`prepare` wraps it here", self.before)
        return self._as_model

    @property
    def as_loader(self) -> Step:
        if self._as_loader is None:
            text = "each rank gets its own batches from this loader"
            kind = FullBatches if self.full else Step
            self._as_loader = kind(self.module, self.node, text, self.before)
        return self._as_loader


class FullBatches(Step):
    """A loader drops incomplete batches: all its batches have the same number of rows, on all ranks."""

    __slots__ = ()


class FieldOfFullBatches(FullBatches):
    """One of the things that such a batch consists of, as a loop over it gives them: it has a row for each sample."""

    __slots__ = ()


def inside_full_batch(step: Step | None) -> Step | None:
    """The same chain for an element: a field of a full batch, or a sample in a field, which is as long as it is.

    For example the boxes in one of the images: `len(target["boxes"]) for target in targets`.
    """
    match step:
        case FieldOfFullBatches():
            return Step(step.module, step.node, step.text, step.before)
        case FullBatches():
            return FieldOfFullBatches(step.module, step.node, step.text, step.before)
    return step


class RowsOfFullBatches(Step):
    """The sizes of what was computed from full batches: it has as many rows on all ranks, unless some were selected."""

    __slots__ = ()


class RowPerSample(Step):
    """What code computes for each sample of the batch that a trainer gives it: all ranks have as many of them.

    Accelerate fills an incomplete last batch with samples from the start, which a gather may leave out again: it is not
    like those of a loader that drops it.
    """

    __slots__ = ()


class GivenWrapper(Step):
    """Something unknown is made with a wrapped model: what is called on it may run the wrapper."""

    __slots__ = ()


class RankLocalFile(Step):
    """A rank tests for a file that ranks write themselves: other ranks test at another moment, or for another file."""

    __slots__ = ()


class ShardedAmongAll(Step):
    """FSDP shards a model here among all ranks, and not among those of a group or a mesh."""

    __slots__ = ()


class SwitchedOff(Step):
    """The ranks that get here switch a flag off for themselves: on the others it is still on."""

    __slots__ = ()


class LauncherVariable(Step):
    """An environment variable is read that the launcher of a distributed program sets for each of its processes."""

    __slots__ = ()


@dataclass(slots=True, eq=False, repr=False)
class NoneWhere(Step):
    """A value is None on the ranks on which a condition (the node) has one result. rank: the condition's fact."""

    rank: Rank = field(kw_only=True)


class ChosenNumber(Step):
    """Ranks have one number or another by the result of a condition (the node), one of which is written in the code."""

    __slots__ = ()


class RequiredOutcome(NamedTuple):
    """The result that a condition (the node) must have for a model to be wrapped. names: what it tests."""

    node: CSTNode
    is_true: bool
    names: frozenset[str]


@dataclass(slots=True, eq=False, repr=False)
class WrappedWhere(Step):
    """A model is wrapped on one branch of a condition (the node), and bare on the other.

    Attributes:
        names: What the condition, and those before it, test.
        function: The enclosing one.
        outcomes: All results that are needed for the model to be wrapped; empty if they are not known.
    """

    _: KW_ONLY
    names: frozenset[str]
    function: object
    outcomes: tuple[RequiredOutcome, ...]


@dataclass(slots=True, eq=False, repr=False)
class WrappedByProjectClass(Step):
    """A model is wrapped in a class of the project. names: the attributes that this class defines itself."""

    names: frozenset[str] = field(kw_only=True)


class WrappedHere(Step):
    """A call of a wrapper's class that wraps a model; its result is the wrapped one."""

    __slots__ = ()


class WrappedAgain(Step):
    """A model that is wrapped already is wrapped once more: what is inside is the first wrapper."""

    __slots__ = ()


@dataclass(slots=True, eq=False, repr=False)
class SharedName(Step):
    """Ranks may find the same name here: a file in a folder that they share, or the time in whole seconds.

    coarse: whether it is the time in units that ranks which start together nearly always agree on: minutes, days.
    on_some_way: the step where the name is this one or another, which all ranks know. It is created only once, as
    chains are compared by identity.
    """

    coarse: bool = field(default=False, kw_only=True)
    _on_some_way: SharedName | None = field(default=None, init=False)

    @property
    def on_some_way(self) -> SharedName:
        if self._on_some_way is None:
            self._on_some_way = NameOnSomeWay(self.module, self.node, self.text, self.before, coarse=self.coarse)
        return self._on_some_way

    def of_one_rank(self) -> Step:
        """The same step, if a name that is derived from it may be different on each rank."""
        return NameOfOneRank(self.module, self.node, self.text, self.before, coarse=self.coarse)


@dataclass(slots=True, eq=False, repr=False)
class NameOfOneRank(Step):
    """Where a name came from that ranks may share, before something that may differ between them was added to it.

    coarse: as that of the name; also of a time in a form that is not known.
    """

    coarse: bool = field(default=False, kw_only=True)


class NameOfOwn(Step):
    """A process makes a name for itself that no other has: letters drawn from the system, its own number there."""

    __slots__ = ()


class GivenToLibrary(Step):
    """A library is given a function of another file, which it calls on each process."""

    __slots__ = ()


class OnlyAnnotated(Step):
    """A parameter is what its annotation says, unless a call out of sight passes something else."""

    __slots__ = ()


class NameOnSomeWay(SharedName):
    """Where a name that ranks may share is used or another one, which all of them know."""

    __slots__ = ()

    @property
    def on_some_way(self) -> SharedName:
        return self


class Returned(Step):
    """A function returns the value to its caller."""

    __slots__ = ()


class OneByOne(Step):
    """All ranks reach this place, one after the other."""

    __slots__ = ()


class NamedByRank(Step):
    """A rank, read in another function, is put into the name of a device."""

    __slots__ = ()


class RemainderOfRank(Step):
    """The rank in the whole job is taken modulo the number of all processes, which leaves it as it is."""

    __slots__ = ()


class EitherPlace(Step):
    """A value comes from one of several places, depending on the branch; shown as the first of them."""

    __slots__ = ("alternatives",)

    def __init__(self, alternatives: tuple[Step, ...]) -> None:
        first = alternatives[0]
        super().__init__(first.module, first.node, first.text, first.before)
        self.alternatives = alternatives

    def preceded_by(self, before: Step | None) -> Step:
        return Step(self.module, self.node, self.text, before)


def either(a: Step | None, b: Step | None) -> Step | None:
    """The explanation of a value that `a` explains on one branch and `b` on another."""
    if a is None or b is None or a is b:
        return a or b
    of_first, of_second = alternatives_of(a), alternatives_of(b)
    nodes = {id(each.node) for each in of_first}
    new = tuple(each for each in of_second if id(each.node) not in nodes)
    return EitherPlace((*of_first, *new)) if new else a


def alternatives_of(step: Step) -> tuple[Step, ...]:
    return step.alternatives if isinstance(step, EitherPlace) else (step,)


def source_step(step: Step | None) -> Step | None:
    """The first step of a chain; None if the chain is empty."""
    while step is not None and step.before is not None:
        step = step.before
    return step


def steps(step: Step | None) -> list[Step]:
    """The steps of a chain, the source first."""
    chain = []
    while step is not None:
        chain.append(step)
        step = step.before
    return chain[::-1]


def is_of_full_batches(step: Step | None) -> bool:
    """Whether a loader that drops incomplete batches gave the data: then Accelerate cuts nothing off."""
    return any(isinstance(each, FullBatches) for each in steps(step))
