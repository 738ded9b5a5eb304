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
            self.end = nn.Linear(size, 2)            unread, as both branches make it
        else:
            self.end = nn.Linear(size, 1)
        self.old = nn.Linear(size, size)             unread, if nothing calls `run_old`
        self.seen = nn.Linear(size, size)            unread: it only runs without gradients

    def forward(self, x): return self.body(x)
    def run_old(self, x): return self.old(x)

    @torch.no_grad()
    def look(self, x): return self.seen(x)

Not if the class may read its parts by other names: `getattr(self, name)`, `for part in self.children(): …`. A base
counts as part of the class, and what its constructor makes, too, if that of the class calls it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import libcst as cst

from trl_lint.analysis.program.project.notes import noted_in_file
from trl_lint.analysis.program.syntax import (
    ancestors,
    last_name,
    names_in,
    of_class,
    parts_of_target,
    self_attribute,
)
from trl_lint.knowledge.models import LIST_PARTS, RETURN_THE_MODEL
from trl_lint.knowledge.torch import WITHOUT_GRADIENTS
from trl_lint.knowledge.torch_distributed import MODULE_ATTRIBUTES
from trl_lint.knowledge.trained_layers import (
    BEGINS_SETTING_UP,
    CALL_NO_METHODS,
    FREEZES_IN_PLACE,
    GIVE_PARTS,
    GRADIENTS_AGAIN,
    IN_PLACE,
    LIST_ALL_PARAMETERS,
    LIST_ALL_PARTS,
    PLAIN_BASES_OF,
    READ_ANY_PART,
    READ_NO_PARTS,
    SET_UP,
    SETS_UP,
    TENSOR_OF_PARAMETER,
)

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo

_INIT, _THIS = "__init__", "self"
_Binding: TypeAlias = "cst.AssignTarget | cst.AnnAssign | cst.AugAssign | cst.For"
_BIND: tuple[type[_Binding], ...] = (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For)


class MadePart(NamedTuple):
    """An attribute that a constructor always assigns, and that nothing else assigns.

    others: for what each branch of an `if` assigns, that of the branches but the first one: values with their targets.
    """

    name: str
    value: cst.BaseExpression
    target: cst.BaseExpression
    constructor: FunctionInfo
    others: tuple[tuple[cst.BaseExpression, cst.BaseExpression], ...] = ()

    @property
    def values(self) -> tuple[cst.BaseExpression, ...]:
        """What it may be, one of which it is: both arms of `nn.Linear(8, 1) if wide else nn.Linear(4, 1)`."""
        return tuple(each for value in (self.value, *(value for value, _ in self.others)) for each in _arms(value))

    @property
    def targets(self) -> tuple[cst.BaseExpression, ...]:
        return (self.target, *(target for _, target in self.others))


def _arms(value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    if isinstance(value, cst.IfExp):
        yield from _arms(value.body)
        yield from _arms(value.orelse)
    else:
        yield value


class UnreadPart(NamedTuple):
    """A part that the code of a class does not use, unless something calls one of its `readers`, which are methods.

    runs: whether it runs without gradients.
    """

    part: MadePart
    readers: frozenset[str] = frozenset()
    runs: bool = False


@noted_in_file
def made_parts(cls: ClassInfo) -> tuple[MadePart, ...]:
    """What the constructors of a class always assign to `self`, and nothing else does; empty if bases are unknown."""
    if not is_plain_module(cls):
        return ()
    made = [part for method in _constructors(cls) for part in _made_by(method)]
    counts = Counter(name for base in cls.project_lineage() for name in _bound(base.node))
    return tuple(each for each in made if counts[each.name] == len(each.targets))


@noted_in_file
def unread_parts(cls: ClassInfo) -> tuple[UnreadPart, ...]:
    """Those of them that no code of the class, and of its bases, uses in a forward; empty if it may use any."""
    nodes = [base.node for base in cls.project_lineage()]
    defined = {each.name.value for node in nodes for each in of_class(node, cst.FunctionDef)}
    if any(map(_reads_any_part, nodes)) or not LIST_PARTS.isdisjoint(defined) or defined <= {_INIT}:
        return ()  # what runs a class of which there is only a constructor is elsewhere
    parts = (_unread(cls, part) for part in made_parts(cls) if part.name not in defined)
    return tuple(each for each in parts if each is not None)


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
    called = {_NEXT}
    for base in cls.project_lineage():
        method = base.methods.get(_INIT)
        if method is None or not isinstance(method.node, cst.FunctionDef) or called.isdisjoint({_NEXT, base.name}):
            continue
        yield method
        called = (called - {_NEXT, base.name}) | {*_constructors_called(base, method.node)}
        if not called:
            return


_NEXT = "super"


def _constructors_called(cls: ClassInfo, constructor: cst.FunctionDef) -> Iterator[str]:
    """The names of the classes whose constructors one calls, or that it calls the next one: `super().__init__()`."""
    for statement in filter(_is_simple, constructor.body.body):
        for each in of_class(statement, cst.Attribute):
            match each:
                case cst.Attribute(value=cst.Call(cst.Name("super"), args), attr=cst.Name("__init__")):
                    if not args or last_name(args[0].value) in {cls.name, "__class__"}:
                        yield _NEXT
                case cst.Attribute(value=owner, attr=cst.Name("__init__")):
                    yield last_name(owner)


def _is_simple(statement: cst.CSTNode) -> bool:
    return isinstance(statement, cst.SimpleStatementLine)


def _made_by(method: FunctionInfo) -> Iterator[MadePart]:
    statements = method.node.body.body if isinstance(method.node, cst.FunctionDef) else ()
    for name, (first, *others) in _assigned_in(statements).items():
        value, target = first
        yield MadePart(name, value, target, method, tuple(others))


_Assigned: TypeAlias = "dict[str, list[tuple[cst.BaseExpression, cst.BaseExpression]]]"


def _assigned_in(statements: Iterable[cst.CSTNode]) -> _Assigned:
    """The attributes of `self` that statements always assign, up to one that may return: values with their targets."""
    found: _Assigned = {}
    for statement in statements:
        if of_class(statement, cst.Return):
            break
        if isinstance(statement, cst.If):
            found |= _in_all_branches(statement)
        for small in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
            match small:
                case (
                    cst.Assign(targets=[cst.AssignTarget(target)], value=value)
                    | cst.AnnAssign(target=target, value=cst.BaseExpression() as value)
                ) if name := self_attribute(target):
                    found[name] = [(value, target)]
    return found


def _in_all_branches(branch: cst.If) -> _Assigned:
    """What all branches of an `if` assign that do not raise; nothing without an `else`."""
    branches = [branch.body]
    while isinstance(branch.orelse, cst.If):
        branch = branch.orelse
        branches.append(branch.body)
    if branch.orelse is None:
        return {}
    branches.append(branch.orelse.body)
    assigned = [_assigned_in(each.body) for each in branches if not _raises(each)]
    names = set.intersection(*map(set, assigned)) if assigned else set()
    return {name: [pair for each in assigned for pair in each[name]] for name in sorted(names)}


def _raises(body: cst.BaseSuite) -> bool:
    last = body.body[-1]
    return isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Raise)


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
    words = [] if name == _INIT else name.strip("_").split("_")
    return any(each in SETS_UP or each.startswith(BEGINS_SETTING_UP) for each in words)


def _unread(cls: ClassInfo, part: MadePart) -> UnreadPart | None:
    """What keeps a part from being used in a forward, or None if it may be."""
    readers, runs = set[str](), False
    targets = set(map(id, part.targets))
    for base in cls.project_lineage():
        reads = (each for each in of_class(base.node, cst.Attribute) if each.attr.value == part.name)
        for read in reads:
            if id(read) in targets or _is_set_up(base.node, read):
                continue
            if _runs_without_gradients(base.node, read):
                runs = True
                continue
            method = method_around(base.node, read)
            if method is None or not is_never_called_by_itself(cls, method):
                return None
            readers.add(method.name.value)
    return UnreadPart(part, frozenset(readers), runs)


def method_around(cls: cst.ClassDef, node: cst.CSTNode) -> cst.FunctionDef | None:
    """The method of a class that a node is in."""
    around = ancestors(cls, node)
    return around[2] if len(around) > 2 and isinstance(around[2], cst.FunctionDef) else None


def is_never_called_by_itself(cls: ClassInfo, method: cst.FunctionDef) -> bool:
    """Whether only code that names a method calls it: it is none that a module has, or that a decorator makes known."""
    name = method.name.value
    is_own = name not in MODULE_ATTRIBUTES and not name.startswith("__") and not method.decorators
    return is_own and CALL_NO_METHODS.issuperset(cls.library_bases())


def _runs_without_gradients(cls: cst.ClassDef, read: cst.Attribute) -> bool:
    """Whether a part only runs where gradients are off, or a method of its own, or of its tensors, is called there."""
    around = ancestors(cls, read)
    chain, outer = _chain(read, around)
    is_called = isinstance(outer[0], cst.Call) and RETURN_THE_MODEL.isdisjoint(chain[-1:])
    if not is_called or not self_attribute(read) or not GRADIENTS_AGAIN.isdisjoint(names_in(cls)):
        return False
    if not GIVE_PARTS.isdisjoint(chain[-1:]) and _is_kept(outer):
        return False
    return any(map(_turns_gradients_off, _switches_around(around)))


def _is_kept(outer: list[cst.CSTNode]) -> bool:
    """Whether the value of a call keeps what it holds: `weights = list(self.head.parameters())`."""
    kinds = tuple(type(each) for each in outer)
    return cst.CompFor not in kinds and not {cst.Assign, cst.AnnAssign, cst.Return}.isdisjoint(kinds)


def _switches_around(around: tuple[cst.CSTNode, ...]) -> Iterator[cst.BaseExpression]:
    """What the `with` statements and decorators around a place call, those that are left when it is run left out."""
    for each in reversed(around):
        match each:
            case cst.With(items=items):
                yield from (item.item for item in items)
            case cst.FunctionDef(decorators=decorators):
                yield from (decorator.decorator for decorator in decorators)
                return
            case cst.Lambda():
                return


def _turns_gradients_off(switch: cst.BaseExpression) -> bool:
    """Whether `torch.no_grad()` or the like is meant: no method of the object, nor `inference_mode(not train)`."""
    match switch:
        case cst.Call(func=func, args=[] | [cst.Arg(value=cst.Name("True"))]):
            return last_name(func) in WITHOUT_GRADIENTS and not self_attribute(func)
        case cst.Call():
            return False
    return last_name(switch) in WITHOUT_GRADIENTS


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
