"""Tests for the release of a library, decided as those of the releases in use, or else as those of a new one.

For example:

    if version.parse(torch.__version__) >= version.parse("1.6"): …      true
    if LooseVersion(transformers.__version__) < "4.30": …               false, unless the project pins such a release
    if sys.version_info >= (3, 8): …                                    true
    if torch.__version__.split(".")[1] > "6": …                         open
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interpreter.conditions.number_tests import ORDER
from trl_lint.analysis.program.syntax import last_name
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import LibraryName, flag
from trl_lint.domain.values import Value
from trl_lint.knowledge import library

_AT_LEAST = (cst.GreaterThan, cst.GreaterThanEqual)
_BELOW = (cst.LessThan, cst.LessThanEqual)
_RELEASE = "__version__"
_OF_PYTHON = "version_info"
# Methods of a text by which a part of it is taken: `torch.__version__.split("+")[0]`.
_PARTS = frozenset({"partition", "split", "strip"})


def compared(frame: Frame, node: cst.Comparison) -> Value | None:
    """Whether a comparison with a release holds; None if it is none, or is open."""
    target = node.comparisons[0]
    is_at_least = isinstance(target.operator, _AT_LEAST)
    if len(node.comparisons) != 1 or not (is_at_least or isinstance(target.operator, _BELOW)):
        return None
    read = _release_in(node.left)
    module = None if read is None else frame.engine.evaluate(frame, read.value)
    if read is None or not isinstance(module, LibraryName) or not _is_constant(target.comparator):
        return None
    if read.attr.value == _OF_PYTHON:
        return flag(is_at_least) if module.name == "sys" else None
    known = frame.engine.versions.get(module.name)
    if not known:
        return flag(is_at_least)
    text = _text_in(target.comparator)
    if text is None or "." not in known:  # of some libraries, only the first number is known
        return None
    return flag(ORDER[type(target.operator)](library.order_of(known, text), 0))


def _release_in(node: cst.BaseExpression) -> cst.Attribute | None:
    """The `torch.__version__` in `version.parse(torch.__version__)`, in `torch.__version__[:3]` or the like."""
    while True:
        match node:
            case cst.Attribute(attr=cst.Name(value=name)) if name in (_RELEASE, _OF_PYTHON):
                return node
            case cst.Call(func=cst.Attribute(value=text, attr=cst.Name(value=name))) if name in _PARTS:
                node = text
            case cst.Call(args=[*_, cst.Arg(value=argument)]):
                node = argument
            case cst.Subscript(value=value, slice=[cst.SubscriptElement(slice=part)]) if _is_beginning(part):
                node = value
            case _:
                return None


def _is_beginning(part: cst.BaseSlice) -> bool:
    match part:
        case cst.Index(value=cst.Integer(value="0")) | cst.Slice(lower=None, step=None):
            return True
    return False


def _is_constant(node: cst.BaseExpression) -> bool:
    """Whether it is a release that is written out: `"1.6"`, `1.6`, `(1, 6)`, `version.parse("1.6")`."""
    match node:
        case cst.SimpleString() | cst.Integer() | cst.Float():
            return True
        case cst.Tuple(elements=elements):
            return all(isinstance(each.value, cst.Integer) for each in elements)
        case cst.Call(args=[cst.Arg(value=cst.SimpleString())]):
            return bool(last_name(node.func))
    return False


def _text_in(node: cst.BaseExpression) -> str | None:
    text = node.args[0].value if isinstance(node, cst.Call) else node
    value = text.evaluated_value if isinstance(text, cst.SimpleString) else None
    return value if isinstance(value, str) else None
