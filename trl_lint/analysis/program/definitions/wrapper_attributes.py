"""Attributes that code sets on a wrapper: they belong to the wrapper, so reading them does not fail.

    model = DDP(model)
    model.hyp = hyp                                 from here on the wrapper has it
    loss = compute_loss(pred, targets, model)       reads `model.hyp`, in another function or file

Attributes that were set on the model before it was wrapped are not found on the wrapper.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, definitions_around, of_class, own_attribute


def is_put_on(tree: cst.CSTNode, wrapping: cst.CSTNode, name: str, reader: cst.CSTNode) -> bool:
    """Whether code sets the attribute `name` on the result of a call that wraps a model.

    tree: the file of that call. In the function of the call the assignment has to be below the call; if an object keeps
    the wrapper (`self.model = DDP(model)`), it may be in another method of the class. Assignments in `reader`, the
    function that reads the attribute, do not count: the analysis of that function already knows what came before.
    """
    kept = next((each for each in reversed(ancestors(tree, wrapping)) if isinstance(each, cst.Assign)), None)
    if kept is None:
        return False
    around = definitions_around(tree, wrapping)
    holders = list(_bound(kept))
    if any(own_attribute(each) for each in holders):
        around = [each for each in around if isinstance(each, cst.ClassDef)]
    root = around[-1] if around else tree
    assignments = list(of_class(root, cst.Assign))
    later = assignments[next(place for place, each in enumerate(assignments) if each is kept) + 1 :]
    own = {id(each) for each in of_class(reader, cst.Assign)}
    return any(
        target.attr.value == name and any(target.value.deep_equals(holder) for holder in holders)
        for each in later
        if id(each) not in own
        for target in _bound(each)
        if isinstance(target, cst.Attribute)
    )


def _bound(statement: cst.Assign) -> Iterator[cst.BaseExpression]:
    """The targets of an assignment, the elements of a tuple one by one."""
    for each in statement.targets:
        if isinstance(each.target, cst.Tuple):
            yield from (element.value for element in each.target.elements)
        else:
            yield each.target
