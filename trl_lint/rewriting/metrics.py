"""The plan for a metric that one rank computed: gather it where it is logged, and repeat its reduction.

`x.mean().cpu()` becomes `accelerator.gather(x.mean()).mean().cpu()`: what is gathered has one element, so its
shape is the same on all ranks, and the tail of the expression stays what it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import libcst as cst

from trl_lint.analysis.facts import SCALABLE, Origin, State
from trl_lint.analysis.heap import Control
from trl_lint.analysis.values import Kind, Payload, Value, Write
from trl_lint.findings import Applicability
from trl_lint.rewriting.edits import Edit, Import, Insert, NoRewrite, Reduced, Replace, Rewrite
from trl_lint.rewriting.reductions import REPEATED, needs_cast, written_reduction
from trl_lint.rewriting.scopes import (
    bindings,
    certainly_bound,
    enclosing_statement,
    free_name,
    names_in,
    walk,
)
from trl_lint.rewriting.tree import ancestors, call_of, method_call, with_replaced

_UNKNOWN_REASON = "how the ranks' values belong together can't be told from the code"
# Why a reduction can't be repeated over the ranks' own results.
_NOT_REPEATED = {
    "std": "the deviation over all ranks is not a mean of the ranks' deviations",
    "var": "the variance over all ranks is not a mean of the ranks' variances",
    "median": "the median over all ranks can't be computed from the ranks' medians",
    "quantile": "a quantile over all ranks can't be computed from the ranks' quantiles",
}
_HOST_METHODS = frozenset({"item", "tolist", "cpu", "numpy"})
_HOST_FUNCTIONS = frozenset({"float", "int", "round"})
# Steps that only a tensor of one element survives.
_PROVES_ONE = frozenset({"item", "float", "int", "round"})
# Around the expression: it is not evaluated exactly once there.
_CONDITIONAL = (cst.Lambda, cst.CompFor, cst.IfExp, cst.BooleanOperation, cst.DictComp, cst.ListComp, cst.SetComp,
                cst.GeneratorExp)  # fmt: skip
_COMPILED = frozenset({"compile", "checkpoint", "jit", "script"})


@dataclass(frozen=True, slots=True)
class Mending:
    """A plan and how far it may be trusted. rewrite is a NoRewrite when there is only a hint."""

    rewrite: Rewrite | NoRewrite
    applicability: Applicability = Applicability.DISPLAY
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Place:
    """What is logged, and the statement and the function (or module) it stands in."""

    module: Any
    root: Any
    statement: Any
    payload: Payload
    what: str

    def value_of(self, node: Any) -> Value | None:
        return self.payload.seen.get(id(node))

    @property
    def accelerator(self) -> cst.BaseExpression:
        return cst.parse_expression(self.payload.accelerator)


@dataclass(frozen=True, slots=True)
class _Gathered:
    """The new code before it has a place: what takes the place of which nodes.

    is_number: a Python number becomes a tensor. ends_here: the new code ends in `.item()`. moves: a tensor that
    had been moved to the CPU goes back to the device.
    """

    replaced: tuple[tuple[Any, cst.BaseExpression], ...]
    is_number: bool
    ends_here: bool = False
    moves: bool = False
    imports: tuple[Import, ...] = ()
    # Lines that have to come first.
    lines: tuple[str, ...] = ()


def plan_for(write: Write) -> Mending:
    """How to mend a metric where a statement puts it into the log, or why that is left to the author."""
    payload = write.payload
    if payload is None:
        return _hint("what is logged does not stand there as one expression")
    root = payload.owner.node if payload.owner is not None else write.module.tree
    place = _Place(write.module, root, write.node, payload, write.what)
    problem = _unsuitable(place)
    if problem:
        return _hint(problem, _text(place))
    found = _gathered(place)
    if isinstance(found, NoRewrite) or found.is_number or found.moves or found.lines:
        binding = _binding(place)
        better = None if binding is None else _gathered(binding)
        if isinstance(better, _Gathered):
            return _placed(binding, better)
    if isinstance(found, NoRewrite):
        return Mending(found, reason=found.reason)
    return _placed(place, found)


def _hint(reason: str, text: str = "") -> Mending:
    return Mending(NoRewrite(reason, text), reason=reason)


def _unsuitable(place: _Place) -> str:
    owner, payload = place.payload.owner, place.payload
    if isinstance(place.root, cst.Lambda):
        return "it stands in a lambda"
    if any(isinstance(node, _CONDITIONAL) for node in ancestors(place.statement, payload.expression)):
        return "the expression is not evaluated exactly once where it is logged"
    if owner is not None and (owner.decorators & _COMPILED):
        return "a collective does not belong into a function that is compiled or run again"
    if owner is not None and owner.cls is not None and _is_module(owner.cls):
        return "a collective does not belong into the forward of a module"
    return "" if payload.accelerator else "no accelerator is in reach"


def _is_module(cls: Any) -> bool:
    from trl_lint.analysis.calls import is_module_class

    return is_module_class(cls)


def _text(place: _Place) -> str:
    """What the author may write where the tool can't: the expression, gathered by some accelerator."""
    found = _gathered(_replace_payload(place, accelerator="accelerator"))
    if isinstance(found, NoRewrite) or found.lines or len(found.replaced) != 1:
        return ""
    return cst.Module([]).code_for_node(with_replaced(place.payload.expression, found.replaced))


def _replace_payload(place: _Place, **changes: Any) -> _Place:
    payload = place.payload
    fields = {name: getattr(payload, name) for name in Payload.__slots__} | changes
    return replace(place, payload=Payload(**fields))


# --- where the value is made ------------------------------------------------------------------------------


def _binding(place: _Place) -> _Place | None:
    """The place where a logged name is bound, if it is bound once and used for nothing but logs.

    There the tensor is still at hand, and a value with several sinks is gathered once.
    """
    name, _, _ = _core(place, place.payload.expression, place.payload.value)
    assign = _only_binding(place, name)
    if assign is None or not _only_shown(place.root, name.value, assign.targets[0]):
        return None
    value = place.value_of(assign.value)
    if value is None:
        return None
    return replace(_replace_payload(place, expression=assign.value, value=value), statement=assign)


def _only_binding(place: _Place, name: Any) -> Any:
    """The assignment that alone binds a name, on the way to the statement; None when there is none."""
    binders = bindings(place.root, [name.value]) if isinstance(name, cst.Name) else []
    if len(binders) != 1 or not isinstance(binders[0], cst.AssignTarget):
        return None
    around = ancestors(place.root, binders[0])
    assign = around[-1] if around else None
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1 or not isinstance(binders[0].target, cst.Name):
        return None
    here, there = enclosing_statement(place.root, name), enclosing_statement(place.root, assign)
    if here is None or there is None or not _same_block(here[1], there[1]):
        return None
    return assign


def _same_block(inner: tuple[Any, ...], outer: tuple[Any, ...]) -> bool:
    """Whether a statement with these nodes around it stands in the block of another, or in a `with` in it."""
    if len(inner) < len(outer) or inner[len(outer) - 1] is not outer[-1]:
        return False
    return all(isinstance(node, (cst.With, cst.IndentedBlock)) for node in inner[len(outer) :])


# Calls that show a value or keep it to be shown.
_SHOWING = frozenset({"append", "log", "log_metric", "log_metrics", "print", "add_scalar", "add_scalars", "set_postfix",
                      "update", "info", "debug", "write", "report_scalar", "track", "record"})  # fmt: skip


# Methods that show no more of a tensor than it is.
_HANDS_ON = frozenset({"item", "detach", "cpu", "float"})


def _only_shown(root: Any, name: str, binder: Any) -> bool:
    """Whether every use of a name is in the arguments of a call that shows it, or an entry of a dict or store."""
    uses = [node for node in walk(root) if isinstance(node, cst.Name) and node.value == name]
    uses = [node for node in uses if node is not binder.target]
    return bool(uses) and all(_is_shown(ancestors(root, node), node) for node in uses)


def _is_shown(around: tuple[Any, ...], node: Any) -> bool:
    inner = node
    for outer in reversed(around):
        match outer:
            case cst.Call(func=func) if inner is not func:
                return _called_name(func) in _SHOWING
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript())]) if inner is outer.value:
                return True
            case cst.Attribute(value=receiver, attr=cst.Name(value=step)) if receiver is inner and step in _HANDS_ON:
                inner = outer
            case cst.Call(func=func) if func is inner and isinstance(func, cst.Attribute):
                inner = outer
            case cst.Arg(keyword=keyword) if keyword is node:
                return True  # only the name of an argument
            case cst.Attribute(attr=attr) if attr is node:
                return True  # only the name of an attribute
            case cst.Arg() | cst.Dict() | cst.DictElement() | cst.FormattedString() | cst.FormattedStringExpression():
                inner = outer
            case cst.List() | cst.Element():
                inner = outer
            case cst.Assign(value=cst.Dict()):
                return True
            case _:
                return False
    return False


def _called_name(func: Any) -> str:
    return func.attr.value if isinstance(func, cst.Attribute) else getattr(func, "value", "")


# --- what is gathered -----------------------------------------------------------------------------------


def _gathered(place: _Place) -> _Gathered | NoRewrite:
    payload = place.payload
    if Origin.RANK in payload.value.rank.origins:
        return NoRewrite("it depends on the number of the rank")
    core, value, proven = _core(place, payload.expression, payload.value)
    ratio = _ratio(place, core)
    if ratio is not None:
        return ratio
    how = value.rank.how if value.rank.state in (State.PARTIAL, State.LOCAL) else ""
    if how not in REPEATED:
        return NoRewrite(_NOT_REPEATED.get(how, _UNKNOWN_REASON))
    if not (value.scalar or proven or value.kind is Kind.NUMBER):
        return NoRewrite("it may have more than one element")
    is_number = _is_number(value)
    if value.kind not in (Kind.TENSOR, Kind.BATCH, Kind.NUMBER):
        return NoRewrite("whether it is a tensor is not known")
    tensor = _on_device(place, core, value)
    written = written_reduction(core)
    reduction = written if written is not None and _spells(written, how) else REPEATED[how]
    if needs_cast(value, reduction):
        tensor = call_of(tensor, "float")
    gathered = call_of(cst.Call(cst.Attribute(place.accelerator, cst.Name("gather")), [cst.Arg(tensor)]), reduction)
    # An array's own `.item()` or `float(…)` takes the tensor to the host as well.
    ends_here = value.kind is Kind.NUMBER or (is_number and not proven)
    if ends_here:
        gathered = call_of(gathered, "item")
    imports = (Import("torch"),) if is_number else ()
    return _Gathered(((core, gathered),), is_number, ends_here, value.place == "cpu", imports)


def _spells(written: str, how: str) -> bool:
    from trl_lint.knowledge.torch import REDUCTIONS

    return REDUCTIONS.get(written) == how


def _is_number(value: Value) -> bool:
    """Not a tensor of torch, so that it has to be made one."""
    return value.kind is Kind.NUMBER or value.place == "host"


def _on_device(place: _Place, core: Any, value: Value) -> cst.BaseExpression:
    """The tensor to gather, on the accelerator's device."""
    core = core.with_changes(lpar=[], rpar=[]) if hasattr(core, "lpar") and not _breaks_lines(core) else core
    device = cst.Attribute(place.accelerator, cst.Name("device"))
    if _is_number(value):
        args = [
            cst.Arg(core, comma=cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))),
            cst.Arg(device, keyword=cst.Name("device"), equal=_TIGHT),
        ]
        return cst.Call(cst.Attribute(cst.Name("torch"), cst.Name("tensor")), args)
    return call_of(core, "to", cst.Arg(device)) if value.place == "cpu" else core


_TIGHT = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))


def _breaks_lines(node: Any) -> bool:
    return "\n" in cst.Module([]).code_for_node(node)


def _core(place: _Place, node: Any, value: Value) -> tuple[Any, Value, bool]:
    """Take off what only hands the reduced value on: the part to gather, its facts, whether it has one element."""
    proven = False
    while True:
        inner, step = _inner(place, node, value)
        if inner is None:
            return node, value, proven
        found = place.value_of(inner)
        if found is None or not found.rank.differs:
            return node, value, proven
        proven = proven or step in _PROVES_ONE
        node, value = inner, found


def _inner(place: _Place, node: Any, value: Value) -> tuple[Any, str]:
    """The operand of the outermost step that commutes with the reduction, and the name of that step."""
    method = method_call(node)
    if method is not None:
        receiver, name = method
        is_host = name in _HOST_METHODS and not node.args
        return (receiver, name) if is_host or (name == "to" and _is_cpu(node)) else (None, "")
    match node:
        case cst.Call(func=cst.Name(value=name), args=[first, *_]) if name in _HOST_FUNCTIONS and not first.star:
            return first.value, name
        case cst.UnaryOperation(operator=cst.Minus(), expression=negated) if value.rank.how in SCALABLE:
            return negated, ""
        case cst.BinaryOperation() if value.rank.how:
            return _one_side(place, node, value), ""
    return None, ""


def _is_cpu(node: cst.Call) -> bool:
    target = node.args[0].value if len(node.args) == 1 else None
    return isinstance(target, cst.SimpleString) and target.evaluated_value == "cpu"


def _one_side(place: _Place, node: cst.BinaryOperation, value: Value) -> Any:
    """The side of an operation that carries the reduction, when the other is the same on all ranks."""
    for side, other in ((node.left, node.right), (node.right, node.left)):
        mine, theirs = place.value_of(side), place.value_of(other)
        if mine is None or theirs is None or theirs.rank.state is not State.SAME:
            continue
        divides = isinstance(node.operator, cst.Divide) and side is node.right
        if mine.rank.differs and mine.rank.how == value.rank.how and not divides:
            return side
    return None


# --- ratios ---------------------------------------------------------------------------------------------


def _ratio(place: _Place, node: Any) -> _Gathered | None:
    """`(x * m).sum() / m.sum()`: the sums over all ranks are divided once."""
    if isinstance(node, cst.Name):
        return _ratio_behind(place, node)
    if not isinstance(node, cst.BinaryOperation) or not isinstance(node.operator, cst.Divide):
        return None
    sides = []
    for side in (node.left, _without_floor(node.right)):
        value = place.value_of(side)
        if value is None:
            return None
        core, value, proven = _core(place, side, value)
        if value.rank.how not in ("sum", "count") or not value.rank.differs or not (value.scalar or proven):
            return None
        if value.kind not in (Kind.TENSOR, Kind.BATCH, Kind.NUMBER):
            return None
        sides.append((core, value))
    base = _identifier(place.what) or "local"
    names = [free_name(place.root, f"{base}_{part}") for part in ("sum", "count")]
    numbers = [_is_number(value) for _, value in sides]
    stacked = _stacked(place, sides, all(numbers))
    code = cst.Module([]).code_for_node
    line = f'{", ".join(names)} = {place.payload.accelerator}.reduce({code(stacked)}, reduction="sum")'
    replaced = tuple(
        (core, call_of(cst.Name(name), "item") if number else cst.Name(name))
        for (core, _), name, number in zip(sides, names, numbers, strict=True)
    )
    return _Gathered(replaced, any(numbers), imports=(Import("torch"),), lines=(line,))


def _ratio_behind(place: _Place, name: cst.Name) -> _Gathered | None:
    """A name for a ratio that is needed as it is elsewhere: its sums are added up anew for the log."""
    assign = _only_binding(place, name)
    if assign is None or _changes_between(place, assign, name):
        return None
    found = _ratio(place, assign.value) if isinstance(assign.value, cst.BinaryOperation) else None
    if found is None:
        return None
    quotient = with_replaced(assign.value, found.replaced)
    if not quotient.lpar:
        quotient = quotient.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    return replace(found, replaced=((name, quotient),))


def _changes_between(place: _Place, assign: Any, name: cst.Name) -> bool:
    """Whether a part of what was assigned is bound anew somewhere in the function."""
    parts = names_in(assign.value)
    bound = [node for node in bindings(place.root, parts) if not _is_before(place.root, node, assign)]
    return bool(bound)


def _is_before(root: Any, node: Any, other: Any) -> bool:
    order = {id(each): index for index, each in enumerate(walk(root))}
    return order[id(node)] < order[id(other)]


def _without_floor(node: Any) -> Any:
    """`count.clamp(min=1)`, `max(count, 1)`: the count itself; what keeps it from zero is done after the sum."""
    method = method_call(node)
    if method is not None and method[1] in ("clamp", "clamp_min", "clip"):
        return method[0]
    match node:
        case cst.Call(func=cst.Name(value="max"), args=[first, cst.Arg(value=cst.BaseNumber())]):
            return first.value
    return node


def _stacked(place: _Place, sides: list[tuple[Any, Value]], numbers: bool) -> cst.BaseExpression:
    if numbers:
        return _on_device(place, _list([core for core, _ in sides]), Value(kind=Kind.NUMBER))
    tensors = [_on_device(place, core, value) for core, value in sides]
    return cst.Call(cst.Attribute(cst.Name("torch"), cst.Name("stack")), [cst.Arg(_list(tensors))])


def _list(items: list[Any]) -> cst.List:
    return cst.List([cst.Element(item) for item in items])


def _identifier(what: str) -> str:
    """A metric's key as the head of a name: `eval/token_accuracy` gives `token_accuracy`."""
    last = what.replace("…", "").rstrip("/").rpartition("/")[2]
    cleaned = "".join(char if char.isalnum() else "_" for char in last).strip("_").lower()
    return cleaned if cleaned.isidentifier() else ""


# --- where it is put ------------------------------------------------------------------------------------


def _placed(place: _Place, found: _Gathered) -> Mending:
    control: Control = place.payload.control
    guard = _outermost_guard(place, control.conditions)
    if isinstance(guard, NoRewrite):
        return _hint(guard.reason)
    if guard is not None:
        return _before_guard(place, found, guard)
    edits: list[Edit] = [Replace(node, by) for node, by in found.replaced]
    reduced = () if found.lines else tuple(_shareable(place, found, edit) for edit in edits)
    if found.lines:
        target = enclosing_statement(place.root, place.statement)
        if target is None or _shares_its_line(target[0]):
            return _hint("there is no line of its own before which the sums could be added up")
        edits += [Insert(target[0], line) for line in found.lines]
    rewrite = Rewrite((*edits, *found.imports), reduced)
    if control.level:
        return Mending(rewrite, Applicability.UNSAFE, "it is not known whether all ranks get here together")
    if found.is_number:
        return Mending(rewrite, Applicability.UNSAFE, "a Python number becomes a tensor in between")
    return Mending(rewrite, Applicability.SAFE)


def _shares_its_line(statement: Any) -> bool:
    return isinstance(statement, cst.SimpleStatementLine) and len(statement.body) > 1


def _outermost_guard(place: _Place, conditions: tuple[Control, ...]) -> Any:
    """The `if` before which the value has to be gathered; None when it can be gathered where it is."""
    divergent = [index for index, each in enumerate(conditions) if each.level == 2]
    if not divergent:
        return None
    inside = conditions[divergent[0] :]
    if any(each.level != 2 or each.rank.origins != Origin.RANK for each in inside):
        return NoRewrite("not all ranks may get here together, and more than the rank decides on that")
    test = conditions[divergent[0]].why.node
    around = ancestors(place.root, test)
    guards = [node for node in around if isinstance(node, (cst.If, cst.While, cst.IfExp))]
    if not guards or not isinstance(guards[-1], cst.If):
        return NoRewrite("not all ranks call the function that logs it")
    guard = guards[-1]
    while len(around) > 1 and (outer := around[around.index(guard) - 1]) and isinstance(outer, cst.If):
        guard = outer  # an `elif` has no place before it
    return guard


def _before_guard(place: _Place, found: _Gathered, guard: Any) -> Mending:
    """The reduction stands before the guard, where all ranks get to; what is logged is its result."""
    reason = _why_not_before(place, found, guard)
    if reason:
        return _hint(reason)
    code = cst.Module([]).code_for_node
    lines = list(found.lines)
    edits: list[Edit] = []
    for node, by in found.replaced:
        if found.lines:
            edits.append(Replace(node, by))
            continue
        reduced = _as_tensor(found, by)
        name = free_name(place.root, _reduced_name(node, reduced, place.what))
        lines.append(f"{name} = {code(reduced)}")
        edits.append(Replace(node, call_of(cst.Name(name), "item") if found.ends_here else cst.Name(name)))
    edits += [Insert(guard, line) for line in lines]
    return Mending(
        Rewrite((*edits, *found.imports)),
        Applicability.UNSAFE,
        "it is gathered before the condition, so that all ranks take part",
    )


def _as_tensor(found: _Gathered, by: Any) -> Any:
    return by.func.value if found.ends_here else by


def _shareable(place: _Place, found: _Gathered, edit: Any) -> Reduced:
    tensor = _as_tensor(found, edit.by)
    return Reduced(place.root, edit, tensor, _reduced_name(edit.node, tensor, place.what))


def _why_not_before(place: _Place, found: _Gathered, guard: Any) -> str:
    data = set().union(*(names_in(node) for node, _ in found.replaced)) - {"self"}
    names = data | names_in(place.accelerator)
    if enclosing_statement(place.root, guard) is None or enclosing_statement(place.root, guard)[0] is not guard:  # type: ignore[index]
        return "there is no place before the condition"
    if data & names_in(guard.test):
        return "the condition asks for what is logged"
    around = ancestors(place.root, place.statement)
    between = around[around.index(guard) + 1 :] if guard in around else ()
    if any(isinstance(node, (cst.For, cst.While, cst.Try)) or _asks_for(node, data) for node in between):
        return "more than the rank's condition stands between all ranks and the log"
    if any(not certainly_bound(place.root, name, guard) for name in names):
        return "what is logged is not computed on all ranks before the condition"
    rebound = bindings(guard, names)
    return "what is logged is computed under the condition" if rebound else ""


def _asks_for(node: Any, names: set[str]) -> bool:
    """Whether a condition may be there to tell whether what is logged has a value at all."""
    if isinstance(node, cst.Match):
        return True
    return isinstance(node, cst.If) and bool(names & names_in(node.test))


def _reduced_name(node: Any, reduced: Any, what: str) -> str:
    """`mean_loss` for `loss` gathered and averaged."""
    reduction = reduced.func.attr.value
    own = node
    while (method := method_call(own)) is not None:
        own = method[0]
    base = own.value if isinstance(own, cst.Name) else own.attr.value if isinstance(own, cst.Attribute) else ""
    base = base or _identifier(what) or "metric"
    return base if base.startswith(f"{reduction}_") else f"{reduction}_{base}"

