"""The flag by which a script of Transformers' kind is asked to train: `if training_args.do_train:`."""

from __future__ import annotations

import ast

# transformers: training_args.py::TrainingArguments
_NAME = "do_train"
_OPTION = f"--{_NAME}"


class TrainFlag:
    """Looks at the nodes of a file, one after the other, for what it does with the flag."""

    def __init__(self) -> None:
        self._asked = self._set = False

    @property
    def is_asked_only(self) -> bool:
        """Whether a file asks for the flag and sets it nowhere: it trains where its arguments say so."""
        return self._asked and not self._set

    def see(self, node: ast.AST) -> None:
        if isinstance(node, ast.Attribute) and node.attr == _NAME:
            is_read = isinstance(node.ctx, ast.Load)
            self._asked |= is_read
            self._set |= not is_read
        elif isinstance(node, ast.keyword):
            self._set |= node.arg == _NAME
        elif isinstance(node, (ast.Constant, ast.Name)):  # a key, a field, or a variable of that name
            self._set |= (node.value if isinstance(node, ast.Constant) else node.id) == _NAME
        elif isinstance(node, ast.Call) and any(isinstance(a, ast.Constant) and a.value == _OPTION for a in node.args):
            self._set |= any(_is_true(each) for each in node.keywords)


def _is_true(keyword: ast.keyword) -> bool:
    return keyword.arg == "default" and isinstance(keyword.value, ast.Constant) and bool(keyword.value.value)
