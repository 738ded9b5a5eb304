"""The parameters of a constructor that a module of Lightning saves as its hyperparameters: settings, of any type.

For example:

    def __init__(self, root, split, net):
        self.save_hyperparameters()                    `root` and `split`
        self.save_hyperparameters("root")              `root` alone
        self.save_hyperparameters(ignore=["split"])    the same

Only parameters without an annotation and a default count here: others tell by these what they are. One that is called
(`self.net(x)`) is no setting but a part.
Source: lightning/pytorch/core/mixins/hparams_mixin.py `HyperparametersMixin.save_hyperparameters`
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import libcst as cst

from trl_lint.analysis.program.project.classes import FunctionInfo
from trl_lint.analysis.program.syntax import of_class, self_attribute
from trl_lint.knowledge.lightning import SAVES_HYPERPARAMETERS

_IGNORED = "ignore"


def named_by(constructor: FunctionInfo) -> list[str]:
    """The names of these parameters; none if it is not known which are saved."""
    calls = [
        each for each in of_class(constructor.node, cst.Call) if self_attribute(each.func) == SAVES_HYPERPARAMETERS
    ]
    if len(calls) != 1:
        return []
    called = _called(constructor)
    plain = [
        each.name
        for each in constructor.parameters[1:]
        if each.annotation is None and each.default is None and not each.star and each.name not in called
    ]
    chosen = set(_texts(each.value for each in calls[0].args if each.keyword is None))
    if any(each.keyword is None for each in calls[0].args):
        return [each for each in plain if each in chosen]
    given = [each.value for each in calls[0].args if each.keyword is not None and each.keyword.value == _IGNORED]
    ignored = set(_texts(given))
    return [] if given and not ignored else [each for each in plain if each not in ignored]


def _called(constructor: FunctionInfo) -> set[str]:
    """The names of what the class calls as a function: of parameters, and of attributes."""
    root = constructor.node if constructor.cls is None else constructor.cls.node
    called = [each.func for each in of_class(root, cst.Call)]
    return {self_attribute(each) or (each.value if isinstance(each, cst.Name) else "") for each in called}


def _texts(nodes: Iterable[cst.BaseExpression]) -> Iterator[str]:
    """The texts that expressions are, or have as their elements."""
    for node in nodes:
        if isinstance(node, cst.SimpleString):
            yield str(node.evaluated_value)
        elif isinstance(node, cst.List | cst.Tuple):
            yield from _texts([each.value for each in node.elements])
