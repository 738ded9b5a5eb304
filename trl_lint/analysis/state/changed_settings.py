"""Settings that a function changes in the same way on all ranks, so that they remain settings.

For example:

    if args.debug:
        args.run_name = None                 a literal, under a condition on a setting
    if args.run_name is not None: …          SETTING
    if rank != 0:
        args.run_name = None                 not on all ranks
    if args.run_name is not None: …          unknown, whether or not the parser is in sight
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, identifiers, of_class
from trl_lint.domain import ranks
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.ranks import Origin
from trl_lint.domain.sync_points import place_of
from trl_lint.knowledge.heuristics import MAIN_PROCESS, is_rank_name

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


class ChangedSettings:
    """The assignments to fields of unknown objects in one run of a function, by the node of their target.

    seen: all of them so far. differing: those that may not be the same on all ranks. by_rank: the names of the objects
    and of their fields that are set under a test of the rank.
    """

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self.differing: set[int] = set()
        self.by_rank: set[tuple[str, str]] = set()


def note(frame: Frame, target: cst.Attribute, value: Value) -> None:
    """Note the assignment `args.run_name = value`."""
    changes = frame.notes.of(ChangedSettings)
    changes.seen.add(id(target))
    is_setting = value.rank.is_uniform or value.rank == ranks.SETTING
    by_settings = all(
        each.uniformity is Uniformity.UNKNOWN and each.rank == ranks.SETTING for each in frame.memory.control.conditions
    )
    if not (is_setting and by_settings):
        changes.differing.add(id(target))
    if isinstance(target.value, cst.Name) and any(map(_is_of_rank, frame.memory.control.conditions)):
        changes.by_rank.add((target.value.value, target.attr.value))


def is_switched_by_rank(frame: Frame, node: cst.Attribute) -> bool:
    """Whether the function has set a field under a test of the rank: `if not args.is_master: args.log = False`."""
    owner = node.value
    return isinstance(owner, cst.Name) and (owner.value, node.attr.value) in frame.notes.of(ChangedSettings).by_rank


def _is_of_rank(condition: Control) -> bool:
    """Whether a condition depends on the rank, or may do so by the names in it, as nothing else is known."""
    if condition.rank.origins:
        return condition.rank.origins == Origin.RANK
    test = place_of(condition)
    if condition.uniformity is not Uniformity.UNKNOWN or condition.rank.is_uniform or test is None:
        return False
    return any(is_rank_name(each) or MAIN_PROCESS.fits(each) for each in identifiers(test))


def is_still_a_setting(frame: Frame, node: cst.Attribute, assigned: int) -> bool:
    """Whether all assignments to a field before it is read leave it a setting.

    assigned: how many assignments to this field of an object of this name the file has. All of them have to be in the
    function that reads the field: of others it is not known when they are made.
    """
    targets = targets_of(frame.root, node)
    changes = frame.notes.of(ChangedSettings)
    if len(targets) != assigned or any(id(each) in changes.differing for each in targets):
        return False
    # Those that have not been walked yet come later, unless a loop comes back to here.
    return not frame.loops or all(id(each) in changes.seen for each in targets)


def targets_of(root: cst.CSTNode, node: cst.Attribute) -> list[cst.Attribute]:
    """The targets of the assignments to a field in a function itself, not in those that are nested in it.

    They are in the order of the text, except that those with an annotation come last.
    """
    if not isinstance(node.value, cst.Name):
        return []
    owner, field = node.value.value, node.attr.value
    found = [each.target for each in of_class(root, cst.AssignTarget)]
    found += [each.target for each in of_class(root, cst.AnnAssign) if each.value is not None]
    return [
        each
        for each in found
        if isinstance(each, cst.Attribute)
        and each.attr.value == field
        and isinstance(each.value, cst.Name)
        and each.value.value == owner
        and not any(isinstance(outer, cst.FunctionDef) and outer is not root for outer in ancestors(root, each))
    ]
