"""Small questions about nodes that a rewrite asks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import libcst as cst


class _NameUses(cst.CSTVisitor):
    """Collects, for one name, the nodes around each of its uses that come after a node in the text."""

    def __init__(self, name: str, after: cst.CSTNode) -> None:
        super().__init__()
        self.name = name
        self.after = after
        self.passed = False
        self.stack: list[cst.CSTNode] = []
        self.uses: list[tuple[cst.CSTNode, ...]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if self.passed and isinstance(node, cst.Name) and node.value == self.name:
            self.uses.append((*self.stack, node))
        self.stack.append(node)
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        self.stack.pop()
        self.passed = self.passed or original_node is self.after


def uses_of(root: cst.CSTNode, name: str, *, after: cst.CSTNode) -> list[tuple[cst.CSTNode, ...]]:
    """Each use of a name in the text after a node: the nodes around it, and the name itself last."""
    finder = _NameUses(name, after)
    root.visit(finder)
    return finder.uses


def method_call(node: Any) -> tuple[Any, str] | None:
    """The receiver and the name of `receiver.name(...)`."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return node.func.value, node.func.attr.value
    return None


def call_of(receiver: cst.BaseExpression, name: str, *args: cst.Arg) -> cst.Call:
    """`receiver.name(args)`; an operator as receiver gets its parentheses."""
    if not isinstance(receiver, _BINDS_TIGHTLY) and not receiver.lpar:
        receiver = receiver.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return cst.Call(cst.Attribute(receiver, cst.Name(name)), args)


_BINDS_TIGHTLY = (cst.Name, cst.Attribute, cst.Call, cst.Subscript)


def tensor_of(value: cst.BaseExpression, device: cst.BaseExpression) -> cst.Call:
    """`torch.tensor(value, device=device)`."""
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    args = [cst.Arg(value, comma=comma), cst.Arg(device, keyword=cst.Name("device"), equal=TIGHT)]
    return cst.Call(cst.Attribute(cst.Name("torch"), cst.Name("tensor")), args)


# The `=` of a keyword argument, without spaces.
TIGHT = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))


def goes_to_cpu(node: cst.Call) -> bool:
    """`x.to("cpu")`, in whatever way it is said."""
    target = next((arg.value for arg in node.args if arg.keyword is None or arg.keyword.value == "device"), None)
    others = {arg.keyword.value for arg in node.args if arg.keyword is not None} - {"device", "non_blocking", "copy"}
    if others or sum(arg.keyword is None for arg in node.args) > 1:
        return False
    return isinstance(target, cst.SimpleString) and target.evaluated_value == "cpu"


class _Replacer(cst.CSTTransformer):
    def __init__(self, by_node: dict[int, cst.BaseExpression]) -> None:
        super().__init__()
        self.by_node = by_node

    def on_leave(self, original_node: Any, updated_node: Any) -> Any:
        return self.by_node.get(id(original_node), updated_node)


def with_replaced(whole: Any, replaced: Iterable[tuple[Any, cst.BaseExpression]]) -> Any:
    """A copy of an expression in which these of its nodes have become others."""
    return whole.visit(_Replacer({id(node): by for node, by in replaced}))


def has_comment(module: cst.Module, node: cst.CSTNode) -> bool:
    """Whether a comment stands somewhere inside the node."""
    return "#" in module.code_for_node(node) and _CommentFinder.find(node)


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
