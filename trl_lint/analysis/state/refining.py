"""Domains: the facts of a value other than its rank (its device, its shape, what it is a mean of, who drew it).

The interpreter knows no domain by name. After the rank transfer has computed a value, it passes it through the hooks
below, and each domain returns it with its own facts added. A module in `trl_lint/analysis/transfer/domains/` with a
`DOMAIN` is found automatically.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from graphlib import TopologicalSorter
from typing import TYPE_CHECKING, ClassVar, Concatenate, Generic, NamedTuple, ParamSpec, TypeVar

if TYPE_CHECKING:
    import libcst as cst

    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.domain.ranks import Rank
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Function as FunctionRow
    from trl_lint.knowledge.torch_ops import Operation

# The frame is in a layer above, and holds the domains.
FrameT = TypeVar("FrameT")
ArgsT = ParamSpec("ArgsT")
ResultT = TypeVar("ResultT")


class FunctionCall(NamedTuple):
    """A call of a function that only computes. elements: its arguments, with containers replaced by their elements."""

    row: Operation
    name: str
    args: Arguments
    elements: Arguments
    node: cst.CSTNode


class Exchange(NamedTuple):
    """What a collective does to a value: it gathers it (`how`: "gathered"), or reduces it ("sum", "mean", …).

    has_backward: whether gradients go back through it to the ranks that the values come from.
    """

    how: str
    has_backward: bool = False


class Domain(Generic[FrameT]):
    """Refines values by the hooks that it overrides; a hook that is not overridden costs nothing.

    The parameter `value` of a hook is the result of the rank transfer, as refined by the domains before; the hook's
    result replaces it. One object serves all analyses, so it has no state.

    after: the modules of the domains that have to refine a value before this one, with a comment that says why.
    """

    after: ClassVar[tuple[str, ...]] = ()

    # --- methods and attributes ---

    def method(
        self, frame: FrameT, receiver: Value, name: str, args: Arguments, node: cst.CSTNode, value: Value
    ) -> Value:
        """`receiver.name(…)`, whatever the receiver is."""
        return value

    def tensor_method(
        self, frame: FrameT, row: Operation, receiver: Value, args: Arguments, node: cst.CSTNode, value: Value
    ) -> Value:
        """`x.sum()`: a method of a tensor, or of data of unknown class, with its row."""
        return value

    def in_place(self, frame: FrameT, row: Operation, receiver: Value, value: Value) -> Value:
        """`x.add_(y)`: the tensor itself, changed."""
        return value

    def entry(self, frame: FrameT, batch: Value, name: str, args: Arguments, value: Value) -> Value:
        """`batch.get(key)`, `batch.items()`: a method that a batch has as a dict."""
        return value

    def unknown_method(
        self, frame: FrameT, receiver: Value, name: str, args: Arguments, node: cst.CSTNode, value: Value
    ) -> Value:
        """A method of an unknown value."""
        return value

    def attribute(self, frame: FrameT, receiver: Value, name: str, value: Value) -> Value:
        """`x.shape`: an attribute of a tensor, of a batch or of a model's output."""
        return value

    def stored(self, frame: FrameT, target: cst.Attribute, value: Value) -> None:
        """`x.rows = value`: whatever `x` is."""

    # --- functions and classes ---

    def library_call(self, frame: FrameT, name: str, args: Arguments, node: cst.CSTNode) -> Value | None:
        """The result of a library function that only this domain knows; None: other domains are tried."""
        return None

    def function(self, frame: FrameT, call: FunctionCall, value: Value) -> Value:
        """`torch.stack(x)`: a function that only computes."""
        return value

    def builtin(self, frame: FrameT, name: str, args: Arguments, node: cst.CSTNode, value: Value) -> Value:
        """`len(x)`: a builtin function of Python."""
        return value

    def library_function(
        self, frame: FrameT, row: FunctionRow, args: Arguments, node: cst.CSTNode, receiver: Value | None, value: Value
    ) -> Value:
        """A function of a library that has a row, or a method of `receiver` that has one."""
        return value

    def project_function(self, frame: FrameT, function: FunctionInfo, args: Arguments, value: Value) -> Value:
        """A function of the project, called by its name."""
        return value

    def created(self, frame: FrameT, bases: Iterable[str], args: Arguments, node: cst.CSTNode, value: Value) -> Value:
        """A loader, or an object of a project class with these library bases."""
        return value

    def argument(
        self, frame: FrameT, expression: cst.CSTNode | None, parameter: tuple[FunctionInfo, str], value: Value
    ) -> Value:
        """The argument that a statement passes to this parameter of a function of the project."""
        return value

    def returned(self, frame: FrameT, function: FunctionInfo, node: cst.CSTNode, value: Value) -> Value:
        """The result of this call of a function of the project, as its caller gets it."""
        return value

    # --- models and collectives ---

    def forward(self, frame: FrameT, model: Value, args: Arguments, value: Value) -> Value:
        """`model(…)`: the output of a forward."""
        return value

    def generated(self, frame: FrameT, args: Arguments, value: Value) -> Value:
        """`model.generate(…)`."""
        return value

    def loss(self, value: Value) -> None:
        """A library trains with this value."""

    def collected(self, frame: FrameT, operand: Value, exchange: Exchange, node: cst.CSTNode, value: Value) -> Value:
        """A value that a collective has gathered or reduced."""
        return value

    # --- operators, subscripts, displays ---

    def operator(
        self, frame: FrameT, operator: cst.CSTNode, left: Value, right: Value, node: cst.CSTNode, value: Value
    ) -> Value:
        """`x + y`, `x += y`."""
        return value

    def comparison(self, frame: FrameT, left: Value, right: Value, value: Value) -> Value:
        """`x < y`."""
        return value

    def subscript(self, frame: FrameT, container: Value, node: cst.Subscript, value: Value) -> Value:
        """`x[i]`."""
        return value

    def unpacked(self, frame: FrameT, container: Value, value: Value) -> Value:
        """`total` of `total, count = sums`, where the entries are not known one by one."""
        return value

    def size(self, frame: FrameT, sizes: Value, index: Value, value: Value) -> Value:
        """`rows` of `rows, tokens = x.shape`."""
        return value

    def text(self, frame: FrameT, parts: Sequence[Value], value: Value) -> Value:
        """An f-string with these values in it."""
        return value

    def comprehension(self, frame: FrameT, selected: Rank, value: Value) -> Value:
        """`[x for x in rows if test(x)]`. selected: the fact of the condition that selects the elements."""
        return value

    def dict_comprehension(self, frame: FrameT, node: cst.DictComp, value: Value) -> Value:
        """`{name: x for name, x in rows.items()}`."""
        return value


class Domains(Generic[FrameT]):
    """For each hook, the methods of the domains that override it, in the order in which they refine."""

    def __init__(self, domains: Iterable[Domain[FrameT]]) -> None:
        self._domains = tuple(domains)
        self.method = self._of(Domain.method)
        self.tensor_method = self._of(Domain.tensor_method)
        self.in_place = self._of(Domain.in_place)
        self.entry = self._of(Domain.entry)
        self.unknown_method = self._of(Domain.unknown_method)
        self.attribute = self._of(Domain.attribute)
        self.stored = self._of(Domain.stored)
        self.library_call = self._of(Domain.library_call)
        self.function = self._of(Domain.function)
        self.builtin = self._of(Domain.builtin)
        self.library_function = self._of(Domain.library_function)
        self.project_function = self._of(Domain.project_function)
        self.created = self._of(Domain.created)
        self.argument = self._of(Domain.argument)
        self.returned = self._of(Domain.returned)
        self.forward = self._of(Domain.forward)
        self.generated = self._of(Domain.generated)
        self.loss = self._of(Domain.loss)
        self.collected = self._of(Domain.collected)
        self.operator = self._of(Domain.operator)
        self.comparison = self._of(Domain.comparison)
        self.subscript = self._of(Domain.subscript)
        self.unpacked = self._of(Domain.unpacked)
        self.size = self._of(Domain.size)
        self.text = self._of(Domain.text)
        self.comprehension = self._of(Domain.comprehension)
        self.dict_comprehension = self._of(Domain.dict_comprehension)

    def _of(self, hook: Callable[Concatenate[Domain[FrameT], ArgsT], ResultT]) -> tuple[Callable[ArgsT, ResultT], ...]:
        name = hook.__name__
        return tuple(getattr(each, name) for each in self._domains if getattr(type(each), name) is not hook)


def in_order(domains: Iterable[Domain[FrameT]]) -> tuple[Domain[FrameT], ...]:
    """These domains, each after those that it requires to run first."""
    by_name = {module_of(each): each for each in domains}
    required = {name: [other for other in by_name if other in each.after] for name, each in by_name.items()}
    return tuple(by_name[name] for name in TopologicalSorter(required).static_order())


def module_of(domain: Domain[FrameT]) -> str:
    return type(domain).__module__.rpartition(".")[2]
