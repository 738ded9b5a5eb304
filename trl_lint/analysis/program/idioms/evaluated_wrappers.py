"""Models that are wrapped, and only run without gradients, so that their wrapper waits for none.

    teacher, model = accelerator.prepare(teacher, model)
    for batch in loader:
        with torch.no_grad():
            wanted = teacher(batch)           all that is done with `teacher`, besides `teacher.eval()`; or
        wanted = teacher(batch).detach()
        loss = (model(batch) - wanted).square().mean()

Not if it is passed to a function, or anything else of it is read: that may train it.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.project.classes import decorators_of
from trl_lint.analysis.program.syntax import ancestors, contexts_around, of_class, self_attribute
from trl_lint.knowledge.torch import WITHOUT_GRADIENTS
from trl_lint.knowledge.trained_layers import NO_TRAINING_OF


def is_only_evaluated(root: cst.CSTNode, around: cst.CSTNode | None, wrapping: cst.CSTNode, place: int) -> bool:
    """Whether what a call makes of its argument at a place is only run without gradients, in code that is all known.

    root: the function (or module) of the call. around: its class.
    """
    path = ancestors(root, wrapping)
    statement = path[-1] if path else None
    if not isinstance(statement, cst.Assign) or len(statement.targets) != 1:
        return False
    target: cst.BaseExpression = statement.targets[0].target
    if isinstance(target, cst.Tuple):
        target = target.elements[place].value if place < len(target.elements) else target
    code = root if isinstance(target, cst.Name) else around if self_attribute(target) else None
    if code is None or isinstance(code, cst.Module):
        return False
    outside = set(map(id, of_class(statement, type(target))))
    uses = [each for each in _same(code, target) if id(each) not in outside]
    runs = [each for each in uses if _is_run(code, each)]
    return bool(runs) and all(_is_harmless(code, each) for each in uses)


def _same(code: cst.CSTNode, wrapper: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(wrapper, cst.Name):
        yield from (each for each in of_class(code, cst.Name) if each.value == wrapper.value)
    yield from (each for each in of_class(code, cst.Attribute) if each.deep_equals(wrapper))


def _is_run(code: cst.CSTNode, wrapper: cst.CSTNode) -> bool:
    parent = ancestors(code, wrapper)[-1]
    return isinstance(parent, cst.Call) and parent.func is wrapper


def _is_harmless(code: cst.CSTNode, use: cst.CSTNode) -> bool:
    path = ancestors(code, use)
    if isinstance(path[-1], (cst.AssignTarget, cst.Param)):
        return True
    if isinstance(path[-1], cst.Attribute):
        return path[-1].value is use and path[-1].attr.value in NO_TRAINING_OF
    if not _is_run(code, use):
        return False
    functions = (each for each in path if isinstance(each, cst.FunctionDef))
    decorators = {name for each in functions for name in decorators_of(each)}
    is_detached = isinstance(path[-2], cst.Attribute) and path[-2].attr.value == "detach"
    return is_detached or bool(WITHOUT_GRADIENTS & (contexts_around(code, use) | decorators))
