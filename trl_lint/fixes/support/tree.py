"""Simple queries on nodes, and helpers that build nodes for rewrites."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, below
from trl_lint.fixes.support.node_types import Path, Replacement
from trl_lint.fixes.support.scope import is_before, names_spelled

_Node = TypeVar("_Node", bound=cst.CSTNode)
_Expression = TypeVar("_Expression", bound=cst.BaseExpression)


def uses_of(root: cst.CSTNode, name: str, *, after: cst.CSTNode) -> list[Path]:
    """Each use of a name in the text after a node: the nodes around it, and the name itself last."""
    if not ancestors(root, after):
        return []
    inside = set(map(id, below(after)))
    behind = (each for each in names_spelled(root, name) if id(each) not in inside and is_before(root, after, each))
    return [(*ancestors(root, each), each) for each in behind]


class MethodCall(NamedTuple):
    """`receiver.name(args)`: the whole call, and its parts."""

    node: cst.Call
    receiver: cst.BaseExpression
    name: str
    args: Sequence[cst.Arg]


def method_call(node: cst.CSTNode | None) -> MethodCall | None:
    """A call through an attribute; None for any other node."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return MethodCall(node, node.func.value, node.func.attr.value, node.args)
    return None


def method_on(chain: Path) -> MethodCall | None:
    """The method call on the innermost node of a chain; None if it is used differently."""
    method = method_call(chain[-3]) if len(chain) > 2 else None
    return method if method is not None and method.node.func is chain[-2] and method.receiver is chain[-1] else None


def call_of(receiver: cst.BaseExpression, name: str, *args: cst.Arg) -> cst.Call:
    """`receiver.name(args)`; an operator as receiver gets parentheses."""
    if not isinstance(receiver, _BINDS_TIGHTLY) and not receiver.lpar:
        receiver = in_parentheses(receiver)
    return cst.Call(cst.Attribute(receiver, cst.Name(name)), args)


_BINDS_TIGHTLY = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)


def torch_function(name: str, *args: cst.Arg) -> cst.Call:
    """`torch.name(args)`."""
    return cst.Call(cst.Attribute(cst.Name("torch"), cst.Name(name)), args)


def tensor_of(value: cst.BaseExpression, device: cst.BaseExpression) -> cst.Call:
    """`torch.tensor(value, device=device)`."""
    return torch_function("tensor", cst.Arg(value), keyword_argument("device", device))


def keyword_argument(name: str, value: cst.BaseExpression) -> cst.Arg:
    """`name=value`, without spaces."""
    nothing = cst.SimpleWhitespace("")
    return cst.Arg(value, keyword=cst.Name(name), equal=cst.AssignEqual(nothing, nothing))


def with_argument(call: cst.Call, argument: cst.Arg, value: cst.BaseExpression) -> cst.Call:
    """A call with another value for one of its arguments."""
    return call.with_changes(args=[arg.with_changes(value=value) if arg is argument else arg for arg in call.args])


def with_keyword(call: cst.Call, name: str, value: cst.BaseExpression) -> cst.Call:
    """A call with `name=value`: in place of an argument of that name, otherwise after its other arguments.

    The new argument is formatted like the others: on a separate line if they are.
    """
    existing = next((arg for arg in call.args if keyword_of(arg) == name), None)
    if existing is not None:
        return with_argument(call, existing, value)
    added = keyword_argument(name, value)
    if not call.args:
        return call.with_changes(args=[added])
    *others, last = call.args
    blank = _blank_between(call)
    if isinstance(last.comma, cst.Comma):  # a trailing comma stays at the end
        blank, end = _with_comment_of(blank, last.comma.whitespace_after)
        added = added.with_changes(comma=last.comma.with_changes(whitespace_after=end))
    else:
        blank, end = _with_comment_of(blank, last.whitespace_after_arg)
        added = added.with_changes(whitespace_after_arg=end)
        last = last.with_changes(whitespace_after_arg=cst.SimpleWhitespace(""))
    return call.with_changes(args=[*others, last.with_changes(comma=cst.Comma(whitespace_after=blank)), added])


def _blank_between(call: cst.Call) -> cst.BaseParenthesizableWhitespace:
    """The whitespace between two arguments, without comments; for a single argument on its own line, a line break."""
    comma = call.args[-2].comma if len(call.args) > 1 else None
    if isinstance(comma, cst.Comma):
        return _without_comments(comma.whitespace_after)
    is_folded = isinstance(call.whitespace_before_args, cst.ParenthesizedWhitespace)
    return _without_comments(call.whitespace_before_args) if is_folded else cst.SimpleWhitespace(" ")


def _without_comments(blank: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    if not isinstance(blank, cst.ParenthesizedWhitespace):
        return blank
    return blank.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=[])


def _with_comment_of(
    blank: cst.BaseParenthesizableWhitespace, end: cst.BaseParenthesizableWhitespace
) -> tuple[cst.BaseParenthesizableWhitespace, cst.BaseParenthesizableWhitespace]:
    """The whitespace after the previously last argument, with its comment, and after the new one, without."""
    if not isinstance(blank, cst.ParenthesizedWhitespace) or not isinstance(end, cst.ParenthesizedWhitespace):
        return blank, end
    return blank.with_changes(first_line=end.first_line), end.with_changes(first_line=cst.TrailingWhitespace())


def keyword_of(argument: cst.Arg) -> str:
    """The keyword of an argument; "" for a positional one."""
    return argument.keyword.value if argument.keyword is not None else ""


def goes_to_cpu(args: Sequence[cst.Arg]) -> bool:
    """Whether `x.to(args)` means `x.to("cpu")`, in any spelling."""
    target = next((arg.value for arg in args if keyword_of(arg) in ("", "device")), None)
    others = {keyword_of(arg) for arg in args} - {"", "device", "non_blocking", "copy"}
    if others or sum(arg.keyword is None for arg in args) > 1:
        return False
    return isinstance(target, cst.SimpleString) and target.evaluated_value == "cpu"


class _Replacer(cst.CSTTransformer):
    def __init__(self, replaced: Iterable[Replacement]) -> None:
        super().__init__()
        # LibCST has no type for a node that replaces one of another kind.
        self.by_node: dict[int, Any] = {id(node): by for node, by in replaced}

    def on_leave(self, original_node: _Node, updated_node: _Node) -> _Node:
        new: _Node = self.by_node.get(id(original_node), updated_node)
        return new


def with_replaced(whole: cst.BaseExpression, replaced: Iterable[Replacement]) -> cst.BaseExpression:
    """A copy of an expression in which these nodes are replaced."""
    new = whole.visit(_Replacer(replaced))
    assert isinstance(new, cst.BaseExpression)  # none of its nodes is removed
    return new


def in_parentheses(expression: _Expression) -> _Expression:
    """An expression with parentheses around it."""
    return expression.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def with_conjunct(test: cst.BaseExpression, other: cst.BaseExpression) -> cst.BooleanOperation:
    """`test and other`."""
    left, right = (in_parentheses(each) if _binds_loosely(each) and not each.lpar else each for each in (test, other))
    return cst.BooleanOperation(left, cst.And(), right)


def _binds_loosely(test: cst.BaseExpression) -> bool:
    is_or = isinstance(test, cst.BooleanOperation) and isinstance(test.operator, cst.Or)
    return is_or or isinstance(test, (cst.IfExp, cst.Lambda, cst.NamedExpr))


def in_parentheses_of(other: cst.BaseExpression, expression: _Expression) -> _Expression:
    """An expression with exactly the parentheses that another one has around it."""
    return expression.with_changes(lpar=other.lpar, rpar=other.rpar)


def without_parentheses(expression: _Expression) -> _Expression:
    """An expression without the parentheses around it, unless they join several lines."""
    bare = expression.with_changes(lpar=[], rpar=[])
    return expression if "\n" in text_of(bare) else bare


def text_of(node: cst.CSTNode) -> str:
    """The code of a node."""
    return cst.Module([]).code_for_node(node)


def has_comment(node: cst.CSTNode) -> bool:
    """Whether there is a comment inside the node."""
    return "#" in text_of(node) and _CommentFinder.find(node)


class _CommentFinder(cst.CSTVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.found = False

    def visit_Comment(self, node: cst.Comment) -> None:
        self.found = True

    @classmethod
    def find(cls, node: cst.CSTNode) -> bool:
        finder = cls()
        node.visit(finder)
        return finder.found
