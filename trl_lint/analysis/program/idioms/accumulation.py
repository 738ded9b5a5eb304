"""Which calls of `accumulate` a program enters inside each other, and whether it accumulates several batches.

For example:

    with a.accumulate(x), a.accumulate(y):                  the second one is inside the first
    with a.accumulate(x):
        with b.accumulate(y):                               is not, as it is another Accelerator's
    Accelerator(gradient_accumulation_steps=args.steps)     may accumulate several
    Accelerator()                                           does not
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import libcst as cst

from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.syntax import ancestors, assigned_once, assignments, inwards, last_name, of_class
from trl_lint.domain.provenance import Step
from trl_lint.knowledge.accumulation import ACCELERATOR, BEFORE_NUMBER, PLUGINS, REDUCES_EACH, SAYS_NUMBER
from trl_lint.knowledge.schedules import ACCUMULATION

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.project import Module, Project


class Entered(NamedTuple):
    """Calls of `accumulate` that count the same batch.

    Attributes:
        calls: Those in this function, the outermost first.
        statement: The `with` that enters all of them; None if there are several.
        inside: Where another function enters one more, if the last of the calls is not in this one.
        is_wrapped: Whether the outermost call may have got a wrapped model, whose gradients it does not reduce.
        takes_several: Whether one call may be given all models in the release in use.
    """

    calls: tuple[cst.Call, ...]
    statement: cst.With | None
    inside: Step | None
    is_wrapped: bool
    takes_several: bool


def entered_around(
    root: cst.CSTNode, node: cst.CSTNode, is_call: Callable[[cst.Call], bool]
) -> Iterator[tuple[cst.With, cst.Call]]:
    """The calls that the `with` statements around a node have entered before it, the outermost first."""
    for statement, inner in inwards(root, node):
        if isinstance(statement, cst.With):
            for item in statement.items:
                if item is inner:
                    break
                if isinstance(item.item, cst.Call) and is_call(item.item):
                    yield statement, item.item


def may_accumulate(project: Project, modules: tuple[Module, ...]) -> bool:
    """Whether the Accelerators that files create may accumulate several batches, as far as the settings say."""
    if any(each.mentions(REDUCES_EACH) for each in modules):
        return False
    created = [(each, call) for each in modules for call in creations(each)]
    if not created:
        return any(each.mentions(SAYS_NUMBER) for each in modules) or project.mentions_anywhere(SAYS_NUMBER)
    return any(_takes_several(*each) for each in created) or any(_is_set(each) for each in modules)


@noted
def creations(module: Module) -> list[cst.Call]:
    """The calls in a file that create an Accelerator."""
    return [each for each in of_class(module.tree, cst.Call) if last_name(each.func) == ACCELERATOR]


def _takes_several(module: Module, call: cst.Call) -> bool:
    """Whether an Accelerator is created with a number of batches that is not always 1."""
    named = {each.keyword.value: each.value for each in call.args if each.keyword is not None}
    if not PLUGINS.isdisjoint(named):
        return True
    if ACCUMULATION in named:
        return not _is_one(module, call, named[ACCUMULATION])
    if any(each.star for each in call.args):
        return module.mentions(SAYS_NUMBER)
    return len(call.args) - len(named) > BEFORE_NUMBER


def _is_one(module: Module, call: cst.Call, number: cst.BaseExpression) -> bool:
    if isinstance(number, cst.Name):
        functions = [each for each in ancestors(module.tree, call) if isinstance(each, cst.FunctionDef)]
        values = (assigned_once(each, number.value) for each in (*reversed(functions), module.tree))
        number = next((each for each in values if each is not None), number)
    return isinstance(number, cst.Integer) and number.evaluated_value == 1


def _is_set(module: Module) -> bool:
    """Whether a file sets the number of an Accelerator that is there: `accelerator.gradient_accumulation_steps = 4`."""
    return any(
        isinstance(target, cst.Attribute)
        and target.attr.value == ACCUMULATION
        and last_name(target.value).lower().endswith(ACCELERATOR.lower())
        for target, _ in assignments(module.tree)
    )
