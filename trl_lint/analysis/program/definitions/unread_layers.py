"""Which attributes a constructor always makes, and nothing in the text of the class ever reads.

For example:

    def __init__(self, size):
        super().__init__()
        self.body = nn.Linear(size, size)
        self.norm = nn.LayerNorm(size)               unread
        self.head = nn.Linear(size, 2)               unread: setting up its weights is no use of them
        nn.init.zeros_(self.head.weight)
        if size > 8:
            self.wide = nn.Linear(size, size)        not always made

    def forward(self, x): return self.body(x)

Not if the class may read its parts by other names: `getattr(self, name)`, `for part in self.children(): …`. A base
counts as part of the class, and what its constructor makes, too, if that of the class calls it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import libcst as cst

from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import ancestors, last_name, names_in, of_class, parts_of_target, self_attribute
from trl_lint.knowledge.models import LIST_PARTS
from trl_lint.knowledge.trained_layers import (
    FREEZES_IN_PLACE,
    IN_PLACE,
    LIST_ALL_PARAMETERS,
    LIST_ALL_PARTS,
    PLAIN_BASES_OF,
    READ_ANY_PART,
    READ_NO_PARTS,
    SET_UP,
    TENSOR_OF_PARAMETER,
)

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo

_INIT, _THIS = "__init__", "self"
_Binding: TypeAlias = "cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.For"
_BIND: tuple[type[_Binding], ...] = (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For)


class MadePart(NamedTuple):
    """An attribute that a constructor assigns under no condition, and that nothing else assigns."""

    name: str
    value: cst.BaseExpression
    target: cst.BaseExpression
    constructor: FunctionInfo


@noted_in_file
def made_parts(cls: ClassInfo) -> tuple[MadePart, ...]:
    """What the constructors of a class always assign to `self`, and nothing else does; empty if bases are unknown."""
    if not is_plain_module(cls):
        return ()
    made = [part for method in _constructors(cls) for part in _made_by(method)]
    counts = Counter(name for base in cls.project_lineage() for name in _bound(base.node))
    return tuple(each for each in made if counts[each.name] == 1)


@noted_in_file
def unread_parts(cls: ClassInfo) -> tuple[MadePart, ...]:
    """Those of them that no code of the class, and of its bases, uses; empty if it may use any."""
    nodes = [base.node for base in cls.project_lineage()]
    defined = {each.name.value for node in nodes for each in of_class(node, cst.FunctionDef)}
    if any(map(_reads_any_part, nodes)) or not LIST_PARTS.isdisjoint(defined) or defined <= {_INIT}:
        return ()  # what runs a class of which there is only a constructor is elsewhere
    return tuple(
        part for part in made_parts(cls) if part.name not in defined and not any(_is_used(node, part) for node in nodes)
    )


def is_plain_module(cls: ClassInfo) -> bool:
    """Whether all bases of a class are known, and none of them uses its parts by itself."""
    lineage = cls.project_lineage()
    bases = {each for each in cls.lineage() if each not in lineage}
    return bool(bases) and all(each in READ_NO_PARTS or _is_pretrained(each) for each in bases)


def _is_pretrained(base: object) -> bool:
    """Whether a base is one of those by which transformers loads models, which leave what is run to their heirs."""
    package, ending = PLAIN_BASES_OF
    return isinstance(base, str) and base.startswith(package) and base.endswith(ending)


def _constructors(cls: ClassInfo) -> Iterator[FunctionInfo]:
    """The constructors that are certainly run for an object of a class: its own, and those which that calls."""
    for base in cls.project_lineage():
        method = base.methods.get(_INIT)
        if method is not None and isinstance(method.node, cst.FunctionDef):
            yield method
            if not any(_INIT in names_in(each) for each in method.node.body.body if _is_simple(each)):
                return


def _is_simple(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.SimpleStatementLine)


def _made_by(method: FunctionInfo) -> Iterator[MadePart]:
    statements = method.node.body.body if isinstance(method.node, cst.FunctionDef) else ()
    for statement in statements:
        if of_class(statement, cst.Return):
            return
        for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            match small:
                case (
                    cst.Assign(targets=[cst.AssignTarget(target)], value=value)
                    | cst.AnnAssign(target=target, value=cst.BaseExpression() as value)
                ) if name := self_attribute(target):
                    yield MadePart(name, value, target, method)


def _bound(cls: cst.ClassDef) -> Iterator[str]:
    """The attributes of `self` that the code of a class binds, in whatever way, once for each time."""
    for kind in _BIND:
        for each in of_class(cls, kind):
            yield from filter(None, map(self_attribute, parts_of_target(each.target)))


# --- how parts are used ---------------------------------------------------------------------------------


def _reads_any_part(cls: cst.ClassDef) -> bool:
    names = names_in(cls)
    if not names.isdisjoint(READ_ANY_PART):
        return True
    for call in of_class(cls, cst.Call):
        if last_name(call.func) == "getattr" and not _asks_by_literal(call):
            return True
    listings = [each for each in of_class(cls, cst.Attribute) if each.attr.value in _LISTINGS]
    return any(_is_walked(cls, each) for each in listings)


_LISTINGS = LIST_ALL_PARTS | LIST_ALL_PARAMETERS


def _asks_by_literal(call: cst.Call) -> bool:
    """Whether `getattr` is asked for an attribute by a text, or of something else than the object itself."""
    match call.args:
        case [cst.Arg(value=cst.Name(_THIS)), cst.Arg(value=name), *_]:
            return isinstance(name, cst.SimpleString)
    return True


def _is_walked(cls: cst.ClassDef, listing: cst.Attribute) -> bool:
    """Whether the parts of the object itself are listed for something else than setting them up.

    Or its parameters in a forward, for more than `next(self.parameters()).device`.
    """
    if not (isinstance(listing.value, cst.Name) and listing.value.value == _THIS):
        return False
    around = ancestors(cls, listing)
    methods = [each.name.value for each in around if isinstance(each, cst.FunctionDef)]
    if listing.attr.value in LIST_ALL_PARAMETERS:
        is_first = any(isinstance(each, cst.Call) and last_name(each.func) == "next" for each in around)
        return "forward" in methods and not is_first
    return not any(map(_sets_up, methods))


def _sets_up(name: str) -> bool:
    return "init" in name.replace(_INIT, "") or "reset" in name or "weights" in name


def _is_used(cls: cst.ClassDef, part: MadePart) -> bool:
    return any(
        each.attr.value == part.name and each is not part.target and not _is_set_up(cls, each)
        for each in of_class(cls, cst.Attribute)
    )


def _is_set_up(cls: cst.ClassDef, read: cst.Attribute) -> bool:
    """Whether a read of a part of `self` only sets its parameters up, or names them for an optimizer."""
    if not self_attribute(read):
        return False
    around = ancestors(cls, read)
    chain, outer = _chain(read, around)
    match outer[:2]:
        case [cst.Arg(), cst.Call(func=func)] if isinstance(outer[2], cst.Expr):
            return _is_initialiser(func)
        case [cst.AssignTarget(), cst.Assign()]:
            return TENSOR_OF_PARAMETER in chain
        case [cst.Call(), cst.Expr()]:
            method = chain[-1] if len(chain) > 0 else ""
            return method in SET_UP or (method.endswith(IN_PLACE) and method != FREEZES_IN_PLACE)
        case [cst.Call(), cst.Arg() | cst.DictElement() | cst.Element()] if chain[-1:] == ["parameters"]:
            return not any(isinstance(each, (cst.For, cst.CompFor)) for each in outer)
    return False


def _chain(read: cst.CSTNode, around: tuple[cst.CSTNode, ...]) -> tuple[list[str], list[cst.CSTNode]]:
    """The attributes that are read of something in turn, `weight.data`, and the nodes around that, from inside."""
    chain: list[str] = []
    outer = [*reversed(around)]
    while outer:
        match outer[0]:
            case cst.Attribute(value=value, attr=cst.Name(name)) if value is read:
                chain.append(name)
            case cst.Subscript(value=value) if value is read:
                pass
            case _:
                break
        read = outer.pop(0)
    return chain, outer


def _is_initialiser(callee: cst.BaseExpression) -> bool:
    """Whether a callee sets parameters: `nn.init.zeros_`, `zeros_`, `init_weights`."""
    name = last_name(callee)
    is_of_init = isinstance(callee, cst.Name) or last_name(getattr(callee, "value", None)) == "init"
    return "init" in name or (name.endswith(IN_PLACE) and is_of_init)
