"""The flag by which a script is asked to train.

For example:

    if training_args.do_train:                          in scripts of Transformers
    parser.add_argument("--train", action="store_true") and `if args.train:`, a script's own flag
"""

from __future__ import annotations

import ast

# transformers: training_args.py::TrainingArguments
_NAME = "do_train"
_OPTION = f"--{_NAME}"
_OWN_NAME = "train"


class TrainFlag:
    """Collects from the nodes of a file what it does with the flag."""

    def __init__(self) -> None:
        self._asked = self._set = False
        self._own_option = self._reads_own = self._sets_own = False

    @property
    def is_asked_only(self) -> bool:
        """Whether a file reads the flag and never sets it: it trains only if its arguments say so."""
        uses_own_flag = self._own_option and self._reads_own and not self._sets_own
        return uses_own_flag or (self._asked and not self._set)

    def visit(self, node: ast.AST) -> None:
        self._visit_own(node)
        if isinstance(node, ast.Attribute) and node.attr == _NAME:
            is_read = isinstance(node.ctx, ast.Load)
            self._asked |= is_read
            self._set |= not is_read
        elif isinstance(node, ast.keyword):
            self._set |= node.arg == _NAME
        elif isinstance(node, (ast.Constant, ast.Name)):  # a key, a field, or a variable of that name
            self._set |= (node.value if isinstance(node, ast.Constant) else node.id) == _NAME
        elif isinstance(node, ast.Call) and any(_mentions(each, _OPTION) for each in node.args):
            self._set |= any(_is_true(each) for each in node.keywords)

    def _visit_own(self, node: ast.AST) -> None:
        if isinstance(node, ast.If):
            called = {id(each.func) for each in ast.walk(node.test) if isinstance(each, ast.Call)}
            self._reads_own |= any(_is_own(each) and id(each) not in called for each in ast.walk(node.test))
        elif isinstance(node, ast.Attribute):
            self._sets_own |= _is_own(node) and not isinstance(node.ctx, ast.Load)
        elif isinstance(node, ast.Call) and any(_mentions(each, f"--{_OWN_NAME}") for each in node.args):
            self._own_option |= any(
                each.arg == "action" and _mentions(each.value, "store_true") for each in node.keywords
            )


def _is_own(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == _OWN_NAME


def _mentions(node: ast.AST, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def _is_true(keyword: ast.keyword) -> bool:
    return keyword.arg == "default" and isinstance(keyword.value, ast.Constant) and bool(keyword.value.value)
