"""Tests of objects whose classes in the project say themselves whether they are true, or equal to something.

So is what is certainly a function of a library, and is not called:

    if not os.path.exists: …        never, as a function is true

For example, for a class with `def __bool__(self): return self.rank == 0`:

    if context: …                  differs between ranks, as what `__bool__` returns
    if not context and write: …    the same
    if len(context): …             `__len__`
    if rank == 0: …                `__eq__` of the class of `rank`
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.constants import CREATED
from trl_lint.domain.kinds import LibraryName
from trl_lint.domain.ranks import Origin
from trl_lint.domain.values import Value
from trl_lint.knowledge import library

# The methods by which an object says whether it is true, the first one that it has.
_TRUTH = ("__bool__", "__len__")
_BUILTINS = {"bool": _TRUTH, "int": ("__int__",), "len": ("__len__",)}
_COMPARES: dict[type[cst.CSTNode], tuple[str, ...]] = {
    cst.Equal: ("__eq__",),
    cst.NotEqual: ("__ne__", "__eq__"),
    cst.LessThan: ("__lt__",),
    cst.LessThanEqual: ("__le__",),
    cst.GreaterThan: ("__gt__",),
    cst.GreaterThanEqual: ("__ge__",),
}


def as_test(frame: Frame, node: cst.BaseExpression, value: Value) -> Value:
    """A value that is tested, or what its class says of it, if that is up to the rank.

    A name that is imported may be None in another environment; one that is read from a module is there.
    """
    if isinstance(value, LibraryName) and isinstance(node, cst.Attribute) and library.is_callable(value.name):
        return value.replace(const=CREATED)
    answer = _answer(frame, node, value, _TRUTH, Arguments())
    if answer is None:
        return value
    frame.node_values[id(node)] = answer
    return answer


def of_builtin(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> Value | None:
    """`bool(value)`, `int(value)` or `len(value)`, if that is up to the rank."""
    names = _BUILTINS.get(name, ())
    return _answer(frame, node, args.positional[0], names, Arguments()) if names and args.positional else None


def compared(frame: Frame, node: cst.Comparison, left: Value) -> Value | None:
    """What the class of the left side says of a comparison, if that is up to the rank."""
    if not isinstance(left, ProjectInstance) or len(node.comparisons) != 1:
        return None
    target = node.comparisons[0]
    names = _COMPARES.get(type(target.operator), ())
    if not any(left.cls.find(each) for each in names):
        return None
    return _answer(frame, node, left, names, Arguments((frame.engine.evaluate(frame, target.comparator),)))


def _answer(frame: Frame, node: cst.CSTNode, value: Value, names: tuple[str, ...], args: Arguments) -> Value | None:
    if not isinstance(value, ProjectInstance):
        return None  # a module of torch has no truth of its own, as a rule
    method = next((found for each in names if (found := value.cls.find(each)) is not None), None)
    if method is None:
        return None
    answer = frame.engine.call(frame, method, args, node, value)
    return answer if answer.rank.differs and answer.rank.origins == Origin.RANK else None
