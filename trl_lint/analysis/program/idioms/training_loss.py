"""Whether an expression is the loss that a loop trains with, without any other data-dependent term.

    loss = F.mse_loss(model(x), y)            the backward pass below starts from it
    accelerator.backward(loss)
    loss.detach().item()                      it is
    total += loss.item(); total / len(loader) it is: nothing else is added up
    evaluate(accelerator, model)              it is not, though `accelerator` has been given the loss
    loss - baseline.mean()                    it is not: something else is subtracted
    policy_loss                               it is not, if `loss = policy_loss + value_loss` is trained with
    rec_loss                                  it is, if `loss = args.weight * rec_loss` is

It is decided by the text of one function. Of several bindings of a name the last one before its use counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import are_in_opposite_branches
from trl_lint.analysis.program.syntax import ancestors, below, last_name, of_class, self_attribute, used_names
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.knowledge import torch_ops
from trl_lint.knowledge.heuristics import KEEPS_NONE_OF_IT, SETTINGS_OBJECT
from trl_lint.knowledge.torch_ops import AveragingTransfer


class _Source(IntEnum):
    """What a value is computed from; of several parts, the greatest counts."""

    NEUTRAL = 0  # constants, counters, configuration
    LOSS = 1
    OTHER = 2


@dataclass(frozen=True, slots=True, eq=False)
class _Binding:
    """A binding of a name. end: its position in the text. adds: whether it adds to the earlier value."""

    target: cst.Name
    end: int
    parts: Sequence[cst.BaseExpression]
    adds: bool = False
    scales: bool = False

    @property
    def name(self) -> str:
        return self.target.value


def trained_targets(root: cst.CSTNode, helpers: frozenset[str] = frozenset()) -> frozenset[int]:
    """The ids of the names in a function, or a module, that are bound to what a backward pass starts from.

    Of `loss = compute(batch)`, then `if scaled: loss = loss * 2`, both are.

    helpers: the names of functions that start one from their first argument.
    """
    function = _Function(root, helpers) if helpers else _function(root)
    return frozenset(id(each.target) for each in function.with_earlier_bindings())


def helpers_in(module: cst.Module) -> frozenset[str]:
    """The names of the functions and methods of a file that start a backward pass from their first argument."""
    found = set()
    for function in of_class(module, cst.FunctionDef):
        given = [each.name.value for each in function.params.params if each.name.value not in ("self", "cls")]
        starts = (each for call in of_class(function, cst.Call) for each in _backward_starts(call, frozenset()))
        if given and any(isinstance(each := _unscaled(start), cst.Name) and each.value == given[0] for start in starts):
            found.add(function.name.value)
    return frozenset(found)


def is_training_loss(root: cst.CSTNode, expression: cst.CSTNode) -> bool:
    """Whether an expression is the training loss. root: the function, or the module, of the expression."""
    function = _function(root)
    return bool(function.trained) and function.source_of(expression) is _Source.LOSS


@tree_cache(16)
def _function(root: cst.CSTNode) -> _Function:
    return _Function(root)


class _Function:
    """The bindings of a function, and those from which a backward pass starts."""

    def __init__(self, root: cst.CSTNode, helpers: frozenset[str] = frozenset()) -> None:
        nodes = list(below(root))
        self._root = root
        self._place = {node: place for place, node in enumerate(nodes)}
        self._bindings: dict[str, list[_Binding]] = {}
        self._known: dict[_Binding, _Source] = {}
        for node in nodes:
            if node.__class__ not in _BINDING:
                continue
            for target, parts, adds, scales in _bindings_in(node):
                end = self._place[node] if isinstance(node, cst.For) else max(map(self._place.__getitem__, below(node)))
                self._bindings.setdefault(target.value, []).append(_Binding(target, end, parts, adds, scales))
        self.trained: set[_Binding] = set()
        for node in nodes:
            if isinstance(node, cst.Call):
                for each in _backward_starts(node, helpers):
                    self._train(each, self._place[each])

    def with_earlier_bindings(self) -> list[_Binding]:
        """The bindings from which a backward pass starts, those in other branches, and those they are computed from."""
        found = list(self.trained)
        for binding in found:
            others = [each for each in self._bindings[binding.name] if self._is_alternative(each, binding)]
            reads_itself = binding.adds or any(binding.name in used_names(part) for part in binding.parts)
            before = self._before(binding) if reads_itself else None
            others += [] if before is None else [before]
            found += [each for each in others if each not in found]
        return found

    def _is_alternative(self, one: _Binding, other: _Binding) -> bool:
        return are_in_opposite_branches(self._root, one.target, other.target)

    def source_of(self, node: cst.CSTNode) -> _Source:
        match node:
            case cst.Name():
                return self._of_binding(self._reaching(node.value, self._place.get(node, 0)))
            case cst.Call():
                return self._of_call(node)
            case cst.Attribute() | cst.Subscript():
                return self.source_of(node.value)
            case cst.BinaryOperation():
                return self._of_all((node.left, node.right))
            case cst.UnaryOperation():
                return self.source_of(node.expression)
            case cst.IfExp():
                return self._of_all((node.body, node.orelse))
            case cst.List() | cst.Tuple() | cst.Dict():
                return self._of_all(each.value for each in node.elements)
            case cst.BaseNumber() | cst.BaseString():
                return _Source.NEUTRAL
        return _Source.OTHER

    def _of_all(self, nodes: Iterable[cst.CSTNode]) -> _Source:
        return max(map(self.source_of, nodes), default=_Source.NEUTRAL)

    def _of_call(self, node: cst.Call) -> _Source:
        if last_name(node.func) in _SIZES:
            return _Source.NEUTRAL
        arguments = [each.value for each in node.args]
        source = self._of_all([*arguments, node.func.value] if isinstance(node.func, cst.Attribute) else arguments)
        is_of_constants = all(isinstance(each, (cst.BaseNumber, cst.BaseString)) for each in arguments)
        return _Source.OTHER if source is _Source.NEUTRAL and not is_of_constants else source

    def _of_binding(self, binding: _Binding | None) -> _Source:
        if binding is None:
            return _Source.NEUTRAL
        if binding in self.trained:
            return _Source.LOSS
        if binding not in self._known:
            self._known[binding] = _Source.NEUTRAL  # in case a loop queries it recursively
            before = self._before(binding) if binding.adds else None
            self._known[binding] = max(self._of_binding(before), self._of_all(binding.parts))
        return self._known[binding]

    def _reaching(self, name: str, place: int) -> _Binding | None:
        """The binding that reaches a place: the last one before it, or the last one of all (in a loop)."""
        found = self._bindings.get(name, ())
        earlier = [each for each in found if each.end < place]
        return next(reversed(earlier or found), None)

    def _before(self, binding: _Binding) -> _Binding | None:
        found = self._bindings[binding.name]
        place = found.index(binding)
        return found[place - 1] if place else None

    def _train(self, node: cst.BaseExpression, place: int) -> None:
        """Mark what a backward pass from this expression trains, without its scale factors."""
        node = _unscaled(node, self._is_factor)
        binding = self._reaching(node.value, place) if isinstance(node, cst.Name) else None
        while binding is not None and binding not in self.trained:
            self.trained.add(binding)
            if not binding.scales:
                for part in binding.parts[:1]:
                    if isinstance(part, (cst.BinaryOperation, cst.Name)):
                        self._train(part, binding.end)
                if not self._may_be_skipped(binding, node):
                    return
            binding = self._before(binding)

    def _is_factor(self, node: cst.CSTNode, inside: frozenset[str] = frozenset()) -> bool:
        """Whether a value is a number or follows from settings. inside: names that it is asked for, to end loops."""
        match node:
            case cst.BaseNumber():
                return True
            case cst.Name(name):
                bound = self._bindings.get(name, ())
                parts = [part for each in bound for part in each.parts]
                if name in inside or not bound:
                    return name.isupper()
                return all(self._is_factor(part, inside | {name}) for part in parts)
            case cst.Attribute() | cst.Subscript():
                return bool(self_attribute(node)) or _is_setting(node)
            case cst.UnaryOperation(expression=inner):
                return self._is_factor(inner, inside)
            case cst.BinaryOperation(left=left, right=right):
                return self._is_factor(left, inside) and self._is_factor(right, inside)
            case cst.Call(args=arguments) if last_name(node.func) in _KEEP_NUMBERS:
                return all(self._is_factor(each.value, inside) for each in arguments if each.keyword is None)
        return False

    def _may_be_skipped(self, binding: _Binding, node: cst.CSTNode) -> bool:
        """Whether an earlier binding may reach a place, too: `if weighted: loss = loss_of(weights)`, without else."""
        around = set(map(id, ancestors(self._root, node)))
        if all(id(each) in around for each in ancestors(self._root, binding.target) if isinstance(each, cst.If)):
            return False
        return not any(self._is_alternative(each, binding) for each in self._bindings[binding.name])


def _is_number(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.BaseNumber)


def _unscaled(node: cst.BaseExpression, is_factor: Callable[[cst.CSTNode], bool] = _is_number) -> cst.BaseExpression:
    """`loss` of `loss / steps`, of `loss.mean()` and of `0.5 * loss`."""
    match node:
        case cst.BinaryOperation(left=left, operator=cst.Multiply(), right=right) if is_factor(left):
            return _unscaled(right, is_factor)
        case cst.BinaryOperation(left=left, operator=cst.Divide() | cst.Multiply()):
            return _unscaled(left, is_factor)
        case cst.Call(func=cst.Attribute(value=value, attr=cst.Name("mean" | "sum")), args=[]):
            return _unscaled(value, is_factor)
    return node


def _is_setting(node: cst.CSTNode) -> bool:
    """Whether an expression is read from settings, by their name: `args.weight`, `self.cfg.loss["weight"]`."""
    while isinstance(node, (cst.Attribute, cst.Subscript)):
        node = node.value
        if isinstance(node, (cst.Attribute, cst.Name)) and SETTINGS_OBJECT.fits(last_name(node)):
            return True
    return False


# Functions whose result is a number, or a tensor of one, where their arguments are numbers. Not in torch_ops: Python's
# own and those of `math` are among them.
_KEEP_NUMBERS = frozenset({"abs", "as_tensor", "cos", "exp", "float", "int", "max", "min", "sqrt", "tensor"})

_SIZES = frozenset({"len"})
# How many of the loop's targets are counters, by the function that it iterates over.
_COUNTED = {"enumerate": 1, "range": 1}
# A stand-in for data from outside.
_FROM_OUTSIDE = (cst.Ellipsis(),)


def _backward_starts(call: cst.Call, helpers: frozenset[str]) -> Iterator[cst.BaseExpression]:
    """`loss` of `accelerator.backward(loss)`, `backward(loss, scaler)`, `loss.backward()` and of a scaled loss."""
    func = call.func
    # Methods of other objects may have the same name: `scheduler.step(score)`.
    is_helper = last_name(func) in helpers and (isinstance(func, cst.Name) or bool(self_attribute(func)))
    if not is_helper and torch_ops.of_method(last_name(func)).averages is not AveragingTransfer.TRAINS:
        return
    if call.args:
        yield call.args[0].value
    elif not isinstance(func, cst.Attribute):
        return
    elif isinstance(func.value, cst.Call) and func.value.args:
        yield func.value.args[0].value
    else:
        yield func.value


def _assigned(target: cst.BaseExpression, value: cst.BaseExpression) -> Iterator[tuple[cst.Name, cst.BaseExpression]]:
    """The names of a target, each with its value: all of it if it is unpacked out of sight (`loss, logs = step(x)`)."""
    if isinstance(target, cst.Name):
        yield target, value
    elif isinstance(target, (cst.Tuple, cst.List)):
        parts = [each.value for each in value.elements] if isinstance(value, (cst.Tuple, cst.List)) else []
        if len(parts) != len(target.elements):
            parts = [value] * len(target.elements)
        for one, part in zip(target.elements, parts, strict=True):
            yield from _assigned(one.value, part)


def _adds(call: cst.Call) -> bool:
    """Whether a method may add what it gets to its object: `losses.append(loss)`, not `accelerator.backward(loss)`."""
    if not call.args or KEEPS_NONE_OF_IT.fits(last_name(call.func)):
        return False
    return not any(_backward_starts(call, frozenset()))


# Asked first: the patterns below are slow, and most nodes are of other classes.
_BINDING = frozenset({cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Expr, cst.For})


def _bindings_in(node: cst.CSTNode) -> Iterator[tuple[cst.Name, Sequence[cst.BaseExpression], bool, bool]]:
    """The names that a statement binds, their new values, whether these are added, and whether they scale."""
    match node:
        case cst.Assign(targets=targets, value=value):
            for each in targets:
                for name, part in _assigned(each.target, value):
                    yield name, [part], False, False
        case cst.AnnAssign(target=cst.Name() as name, value=cst.BaseExpression() as value):
            yield name, [value], False, False
        case cst.AugAssign(target=cst.Name() as name, operator=operator, value=value):
            yield name, [value], True, isinstance(operator, (cst.DivideAssign, cst.MultiplyAssign))
        case cst.Expr(value=cst.Call(func=cst.Attribute(value=cst.Name() as name)) as call) if _adds(call):
            yield name, [each.value for each in call.args], True, False
        case cst.For(target=target, iter=iterable):
            bound = [name for name in below(target) if isinstance(name, cst.Name)]
            counters = _COUNTED.get(last_name(iterable.func), 0) if isinstance(iterable, cst.Call) else 0
            for place, name in enumerate(bound):
                yield name, [] if place < counters else _FROM_OUTSIDE, False, False
