"""How fixes change a tree: a few primitive edits, all applied in the same way.

A planner (one module of this package per rule) builds them from the nodes that a rule found; `editing` applies them and
knows nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from itertools import count

import libcst as cst

from trl_lint.analysis.program.syntax import below, used_names, value_names
from trl_lint.domain.provenance import Step
from trl_lint.fixes.support.tree import with_replaced


@dataclass(frozen=True, slots=True, eq=False)
class Replace:
    """Replace an expression by another one."""

    node: cst.BaseExpression
    by: cst.BaseExpression


@dataclass(frozen=True, slots=True, eq=False)
class Insert:
    """Put a statement before or after a statement of the tree. The same text is put there only once.

    root: if the statement binds new names, the function (or module) in which they are unused.
    below_comments: whether it does a part of what the comments above the anchor describe, and goes below them.
    """

    anchor: cst.BaseStatement
    code: str
    behind: bool = False
    root: cst.CSTNode | None = None
    below_comments: bool = False

    @property
    def new_names(self) -> tuple[str, ...]:
        targets = self.code.partition(" = ")[0].split(", ") if self.root is not None else []
        return tuple(name for name in targets if name.isidentifier())


@dataclass(frozen=True, slots=True, eq=False)
class Enclose:
    """Put a line, or a `with`, into a block with this head: `with lock()`, `if first`."""

    statement: cst.SimpleStatementLine | cst.With
    head: str


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """Move a line, unchanged, before or after an `if`.

    An `if` whose last line is moved is removed.
    """

    statement: cst.SimpleStatementLine
    anchor: cst.If
    behind: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Drop:
    """Remove the line that binds a name, if nothing in a function or module (`root`) reads it any more.

    That is the case once other edits replace everything that reads it. The line is not the only one of its block.
    """

    statement: cst.SimpleStatementLine
    name: str
    root: cst.CSTNode


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Split an `if` without other branches: `inner` around what is left in it, `outer` around that and new lines."""

    statement: cst.If
    outer: cst.BaseExpression
    inner: cst.BaseExpression


@dataclass(frozen=True, slots=True, eq=False)
class LeaveOut:
    """Remove items of a `with`, but not all."""

    statement: cst.With
    items: tuple[cst.WithItem, ...]


@dataclass(frozen=True, slots=True)
class Import:
    """A module, or one of its names, that the new code needs."""

    module: str
    name: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class ExtendImport:
    """Add names to an existing import."""

    node: cst.ImportFrom
    by: cst.ImportFrom


Edit = Replace | Insert | Enclose | Move | Drop | Part | LeaveOut | Import | ExtendImport


@dataclass(frozen=True, slots=True, eq=False)
class Reduced:
    """A value that a rewrite reduces in place, so that another rewrite of the same value can use the result.

    Attributes:
        root: The function (or module) that contains it.
        replace: The edit.
        tensor: What `replace` puts there, as a tensor.
        name: A possible name for the result.
    """

    root: cst.CSTNode
    replace: Replace
    tensor: cst.BaseExpression
    name: str


@dataclass(frozen=True, slots=True, eq=False)
class FixPlan:
    """How to fix one finding.

    Attributes:
        reduced: Values that other findings' rewrites may share.
        caution: Why the plan itself is not safe, or "".
        conditions: The places that make it unsafe.
    """

    edits: tuple[Edit, ...]
    reduced: tuple[Reduced, ...] = ()
    caution: str = ""
    conditions: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class NoFix:
    """Why there is only a hint, and the places that make it so (conditions).

    help: what the author may do instead, if that is more specific than the general help.
    """

    reason: str
    help: str = ""
    conditions: tuple[Step, ...] = ()


def with_distinct_names(rewrites: Iterable[FixPlan]) -> list[FixPlan]:
    """The rewrites with new names that do not collide, because each was planned independently."""
    binding_of_name: dict[tuple[int, str], list[Insert]] = {}
    found = []
    for rewrite in rewrites:
        binding = [(edit, edit.root) for edit in rewrite.edits if isinstance(edit, Insert) and edit.root is not None]
        renamed: dict[str, str] = {}
        for edit, root in binding:
            for name in edit.new_names:
                if any(_collide(edit, other) for other in binding_of_name.get((id(root), name), ())):
                    renamed[name] = _another_name(root, name, binding_of_name)
        rewrite = _renamed(rewrite, renamed) if renamed else rewrite
        for insert in (each for each in rewrite.edits if isinstance(each, Insert)):
            for name in insert.new_names:
                binding_of_name.setdefault((id(insert.root), name), []).append(insert)
        found.append(rewrite)
    return found


def _collide(one: Insert, other: Insert) -> bool:
    """Whether two new statements may not bind the same name.

    Each is read only at its anchor. The same text is put in one place only once; in two places, it binds a name anew.
    """
    if one.code != other.code:
        return True
    anchors = (one.anchor, other.anchor)
    return one.anchor is not other.anchor and any(
        each is inner for outer, inner in (anchors, anchors[::-1]) for each in below(outer)
    )


def _another_name(root: cst.CSTNode, name: str, names_in_use: Collection[tuple[int, str]]) -> str:
    used = used_names(root)
    numbered = (f"{name}_{number}" for number in count(2))
    return next(each for each in numbered if each not in used and (id(root), each) not in names_in_use)


def _renamed(rewrite: FixPlan, names: dict[str, str]) -> FixPlan:
    """The same rewrite with other names for what it binds."""

    def of_code(code: str) -> str:
        return re.sub(r"(?<![\w.])(\w+)\b", lambda match: names.get(match[1], match[1]), code)

    def of_edit(edit: Edit) -> Edit:
        if isinstance(edit, Insert):
            return replace(edit, code=of_code(edit.code))
        if isinstance(edit, Replace):
            uses = [use for use in value_names(edit.by) if use.value in names]
            renamed = [(use, use.with_changes(value=names[use.value])) for use in uses]
            return replace(edit, by=with_replaced(edit.by, renamed))
        return edit

    return replace(rewrite, edits=tuple(map(of_edit, rewrite.edits)))


def merged(rewrites: Iterable[FixPlan]) -> FixPlan | None:
    """One rewrite that does all of these; None if two of them replace a node, or move a line, differently."""
    edits: list[Edit] = []
    reduced: list[Reduced] = []
    replaced: dict[int, cst.BaseExpression] = {}
    moved: dict[int, Move] = {}
    for rewrite in with_distinct_names(dict.fromkeys(rewrites)):
        for edit in rewrite.edits:
            if isinstance(edit, Replace):
                other = replaced.setdefault(id(edit.node), edit.by)
                if not _is_same_expression(other, edit.by):
                    return None
                if other is not edit.by:
                    continue
            if isinstance(edit, Move):
                first = moved.setdefault(id(edit.statement), edit)
                if (first.anchor, first.behind) != (edit.anchor, edit.behind):
                    return None
                if first is not edit:
                    continue
            edits.append(edit)
        reduced += [each for each in rewrite.reduced if each.replace in edits]
    return FixPlan(tuple(edits), tuple(reduced))


def independent(rewrites: Iterable[FixPlan]) -> list[bool]:
    """For each rewrite, in order, whether it can be applied together with the accepted ones before it."""
    accepted_by_node: dict[int, cst.BaseExpression] = {}
    around: set[int] = set()
    verdicts = []
    for rewrite in rewrites:
        edits = [edit for edit in rewrite.edits if isinstance(edit, Replace)]
        new = [edit for edit in edits if not _is_same_expression(accepted_by_node.get(id(edit.node)), edit.by)]
        inside = {id(each) for edit in new for each in below(edit.node)}
        is_clear = inside.isdisjoint(accepted_by_node) and not any(id(edit.node) in around for edit in new)
        if is_clear:
            accepted_by_node.update({id(edit.node): edit.by for edit in new})
            around |= inside
        verdicts.append(is_clear)
    return verdicts


def _is_same_expression(known: cst.BaseExpression | None, by: cst.BaseExpression) -> bool:
    return known is not None and (known is by or known.deep_equals(by))
