"""Models that no optimizer steps: where code makes all its optimizers with the parameters of other models.

optimizer = Adam(decoder.parameters())
decoder, scorer, optimizer = accelerator.prepare(decoder, scorer, optimizer)
scorer.module.features(decoder(x))             nothing trains `scorer`, though gradients go through it

optimizer = make_optimizer(args)               unknown
both = Pair(decoder, scorer)                   unknown: the parameters of one may be those of the other, too
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.idioms.stepped_models import made_of, optimizers_in, owners_in
from trl_lint.analysis.program.syntax import assigned_parts, below, holder_name, last_name, names_in, of_class
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.knowledge.accelerate import PREPARE
from trl_lint.knowledge.models import INNER_MODEL

_PREPARE = PREPARE.rpartition(".")[2]


@tree_cache(64)
def is_left_out(root: cst.CSTNode, callee: cst.CSTNode) -> bool:
    """Whether a call runs the module inside a wrapper, `wrapper.module`, and code steps other models only."""
    inside = (each for each in of_class(callee, cst.Attribute) if each.attr.value == INNER_MODEL)
    name = next((each.value.value for each in inside if isinstance(each.value, cst.Name)), "")
    optimizers = optimizers_in(root, root) if name else ()
    owners: set[str] = set()
    for optimizer in optimizers:
        found = {part for value in made_of(root, optimizer) for each in owners_in(value) for part in names_in(each)}
        if not found:
            return False
        owners |= found
    asked = {part for each in owners_in(root) for part in names_in(each)}
    return bool(owners) and asked.isdisjoint(_made_with(root, name)) and not any(_hands_on(root, name, owners))


def _made_with(root: cst.CSTNode, name: str) -> set[str]:
    """A name, and the names in all that it is assigned, and so on; `prepare` gives what it is passed by that name."""
    found: set[str] = set()
    left = {name}
    while left:
        found |= left
        values = (value for target, value in assigned_parts(root) if left & names_in(target))
        left = {part for each in values if not _prepares(each, found) for part in names_in(each)} - found
    return found


def _prepares(value: cst.BaseExpression, names: set[str]) -> bool:
    """Whether `prepare` is passed something, and its result is bound to the same names again."""
    return isinstance(value, cst.Call) and last_name(value.func) == _PREPARE and not names.isdisjoint(names_in(value))


def _hands_on(root: cst.CSTNode, name: str, owners: set[str]) -> Iterator[bool]:
    """For each place that uses a model as a whole: whether it may become a part of what an optimizer steps."""
    for call in of_class(root, cst.Call):
        if last_name(call.func) != _PREPARE and any(_is_name(arg.value, name) for arg in call.args):
            yield holder_name(call.func) in owners or any(not names_in(arg).isdisjoint(owners) for arg in call.args)
    for target, value in assigned_parts(root):
        if name in names_in(value) and not _prepares(value, {name}):
            yield isinstance(value, cst.Name) or not names_in(target).isdisjoint(owners)
    targets = {id(part) for each in of_class(root, cst.AssignTarget) for part in below(each.target)}
    for kind in (cst.Element, cst.DictElement):
        yield any(_is_name(each.value, name) for each in of_class(root, kind) if id(each) not in targets)


def _is_name(node: cst.BaseExpression, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name
