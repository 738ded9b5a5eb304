"""Gather a number where it is bound: one that is taken from a tensor, bound to a name, and then shown or kept.

    value = loss.item()          # gathered here, `value` is the ranks' mean in all that follows
    recorder.add(step, value)
    total += value
    if accelerator.trackers: accelerator.log({"loss": value})

There the tensor is still available, and one collective serves all uses. Creating a tensor from the number again where
it is logged is a detour, and has to be repeated in each statement that logs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import libcst as cst

from trl_lint.analysis.program.syntax import ancestors, below, last_name, positional_parameters
from trl_lint.domain.control import UNIFORM, Control, Uniformity
from trl_lint.domain.values import Kind
from trl_lint.fixes.support.blocks import StatementInBlock, enclosing_statement
from trl_lint.fixes.support.logged import LogSite, assignment, core_of, with_expression
from trl_lint.fixes.support.placing import guard_of
from trl_lint.fixes.support.scope import Binding, as_binding, binders, bound_targets, is_before, names_spelled
from trl_lint.fixes.support.tree import keyword_of
from trl_lint.fixes.support.uses import is_shown
from trl_lint.knowledge.heuristics import RECORDS

# Nodes because of which a line may not run every time the function runs.
_OPTIONAL = (cst.If, cst.While, cst.Try, cst.TryStar, cst.Match, cst.FunctionDef, cst.Lambda, cst.ClassDef)


def bound_number(place: LogSite) -> LogSite | None:
    """The place where a logged number is taken from a tensor, if the number is only shown."""
    core, value, _ = core_of(place, place.expression, place.payload.value)
    if value.kind is not Kind.NUMBER or not isinstance(core, cst.Name):
        return None
    guard = guard_of(place)
    numbers = _Numbers(place.root, place.module.tree)
    bound, control = numbers.reaching(core), place.payload.control
    if bound is None:
        bound, control = numbers.added_up(core), _UNKNOWN
    elif isinstance(guard, (cst.If, cst.For)):
        if not _comes_before(place.root, bound, guard):
            return None
        control = _control_at_guard(control)
    elif guard is not None or not _is_in_enclosing_block(place.root, bound, core):
        return None
    number = None if bound is None else place.value_of(bound.value)
    # A value computed from this rank's sum must not be combined with a sum over all ranks: `total / count`.
    if bound is None or number is None or number.kind is not Kind.NUMBER or number.rank.how != "mean":
        return None
    if not numbers.only_shown(bound):
        return None
    found = with_expression(place, bound.value, number)
    found.payload.control = control
    return replace(found, statement=bound.assign)


_UNKNOWN = Control(Uniformity.UNKNOWN)


def _control_at_guard(control: Control) -> Control:
    """The control at the guard: the conditions before the first one on which ranks differ."""
    outside = UNIFORM
    for each in control.conditions:
        if each.uniformity is Uniformity.DIVERGENT:
            break
        outside = outside.under(each)
    return outside


def _comes_before(root: cst.CSTNode, bound: Binding, guard: cst.If | cst.For) -> bool:
    """Whether every path to a guard runs an assignment, and the same ranks reach both."""
    line = enclosing_statement(root, bound.assign)
    return line is not None and is_before(root, bound.assign, guard) and _block_contains(line, root, guard)


def _is_in_enclosing_block(root: cst.CSTNode, bound: Binding, use: cst.CSTNode) -> bool:
    """Whether an assignment is in the block of a use, or in one that contains the use inside a `with`."""
    here, line = enclosing_statement(root, use), enclosing_statement(root, bound.assign)
    if here is None or line is None or line.block not in here.around:
        return False
    inside = here.around[here.around.index(line.block) + 1 :]
    return all(isinstance(each, (cst.With, cst.IndentedBlock)) for each in inside)


def _block_contains(line: StatementInBlock[cst.BaseStatement], root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a node is inside the block of a line."""
    return any(each is line.block for each in ancestors(root, node))


@dataclass(slots=True)
class _Numbers:
    """How a function (or module, `root`) in a file (`tree`) uses numbers. seen: the names followed so far."""

    root: cst.CSTNode
    tree: cst.Module
    seen: set[str] = field(default_factory=set)

    def reaching(self, use: cst.Name) -> Binding | None:
        """The assignment that gives a use of a name its value, if it can be no other one."""
        return next((bound for each, bound in self._uses(use.value) if each is use), None)

    def added_up(self, use: cst.Name) -> Binding | None:
        """The assignment of the number that is added up in a sum, if the number is also shown by itself.

        `total = 0`, then `total += value`: if `value` is gathered, its sum needs nothing else.
        """
        assignments = [assignment(self.root, each) for each in binders(self.root, [use.value])]
        added = [each.value for each in assignments if isinstance(each, cst.AugAssign)]
        started = [each.value for each in assignments if isinstance(each, cst.Assign)]
        if len(added) != 1 or len(assignments) != len(added) + len(started) or not all(map(_is_constant, started)):
            return None
        value = added[0]
        bound = self.reaching(value) if isinstance(value, cst.Name) else None
        if bound is None or _is_optional(ancestors(self.root, bound.assign)[1:]):
            return None
        return bound if len([each for each, other in self._uses(bound.name.value) if other == bound]) > 1 else None

    def only_shown(self, bound: Binding) -> bool:
        """Whether all uses of the bound value show it or keep it."""
        uses = [each for each, other in self._uses(bound.name.value) if other == bound]
        return bool(uses) and all(self._is_shown(each) for each in uses)

    def _is_shown(self, use: cst.CSTNode) -> bool:
        return is_shown(ancestors(self.root, use), use, True, self._is_shown_on)

    def _is_shown_on(self, outer: cst.CSTNode, inner: cst.CSTNode) -> bool:
        """Whether a number that is bound to another name, or passed to a call, is only shown."""
        match outer:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=name))]):
                return self._is_name_shown(name)
            case cst.AnnAssign(target=cst.Name(value=name)) | cst.AugAssign(target=cst.Name(value=name)):
                return self._is_name_shown(name)
            case cst.Call() if isinstance(inner, cst.Arg):
                return self._is_recorded(outer) or self._is_argument_shown(outer, inner)
        return False

    def _is_name_shown(self, name: str) -> bool:
        """Whether all uses of a name show its value, however often it is bound."""
        if name in self.seen:
            return True
        self.seen.add(name)
        targets = set(map(id, bound_targets(self.root)))
        return all(id(use) in targets or self._is_shown(use) for use in names_spelled(self.root, name))

    def _is_recorded(self, call: cst.Call) -> bool:
        """Whether it is a statement like `recorder.add(…)`."""
        is_statement = isinstance(ancestors(self.root, call)[-1], cst.Expr)
        return is_statement and isinstance(call.func, cst.Attribute) and RECORDS.fits(last_name(call.func))

    def _is_argument_shown(self, call: cst.Call, argument: cst.Arg) -> bool:
        """Whether a function of this file only shows the number it is passed."""
        function = _function(self.tree, call.func)
        name = "" if function is None else _parameter(function, call, argument)
        if function is None or not name:
            return False
        inside = _Numbers(function, self.tree)
        uses = names_spelled(function.body, name)
        return bool(uses) and all(inside._is_shown(use) for use in uses)

    def _uses(self, name: str) -> Iterator[tuple[cst.Name, Binding]]:
        """All uses of a name, each with the assignment of its value; none if one of them may have another value."""
        found: list[tuple[cst.Name, Binding]] = []
        bound = set(map(id, bound_targets(self.root)))
        last: Binding | None = None
        before: Binding | None = None  # the value until the last binding is complete: `x = x.item()`
        for each in names_spelled(self.root, name):
            around = ancestors(self.root, each)
            if _is_label(around[-1], each):
                continue
            if id(each) in bound:
                before = last
                last = as_binding(around[-2]) if isinstance(around[-1], cst.AssignTarget) else None
                if last is None:
                    return
                continue
            now = before if last is not None and any(node is last.assign for node in around) else last
            if now is None or not self._always_has(each, now):
                return
            found.append((each, now))
        yield from found

    def _always_has(self, use: cst.Name, last: Binding) -> bool:
        """Whether every path to a use of a name runs the last assignment before it in the text."""
        around = ancestors(self.root, use)
        line = enclosing_statement(self.root, last.assign)
        nested = any(isinstance(node, (cst.FunctionDef, cst.Lambda)) for node in around[1:])
        return line is not None and not nested and _block_contains(line, self.root, use)


def _is_label(parent: cst.CSTNode, name: cst.Name) -> bool:
    """Whether a name is that of an attribute or of a keyword argument, not a variable."""
    return (isinstance(parent, cst.Attribute) and parent.attr is name) or (
        isinstance(parent, cst.Arg) and parent.keyword is name
    )


def _is_constant(node: cst.BaseExpression) -> bool:
    return isinstance(node, (cst.Integer, cst.Float))


def _is_optional(around: tuple[cst.CSTNode, ...]) -> bool:
    return any(isinstance(each, _OPTIONAL) for each in around)


def _function(tree: cst.Module, func: cst.BaseExpression) -> cst.FunctionDef | None:
    """The function of a file that is called by name, or as a method of `self`; None unless there is exactly one."""
    match func:
        case cst.Name(value=name) | cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)):
            found = [each for each in below(tree) if isinstance(each, cst.FunctionDef) and each.name.value == name]
            return found[0] if len(found) == 1 else None
    return None


def _parameter(function: cst.FunctionDef, call: cst.Call, argument: cst.Arg) -> str:
    """The parameter that receives an argument; "" if that is not obvious."""
    if any(each.star for each in call.args) or argument not in call.args:
        return ""
    if argument.keyword is not None:
        return keyword_of(argument)
    place = call.args.index(argument) + isinstance(call.func, cst.Attribute)
    names = positional_parameters(function.params)
    return names[place] if place < len(names) else ""
