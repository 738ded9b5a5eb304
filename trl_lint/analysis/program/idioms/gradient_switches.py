"""Code that freezes models, or trains them again, found by its text: which expressions, and on or off.

For example, called as `toggle([self.d, e], False)`:

    def toggle(nets, flag):
        for net in nets:
            for p in net.parameters():
                p.requires_grad = flag       `self.d` and `e` are frozen
        nets[0].head.requires_grad_()        not understood
    for name, p in d.named_parameters():
        if "head" in name: continue
        p.requires_grad = False              `d`, but "head"

Models are named by the expressions of the caller, through the functions of the project that it calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple, TypeAlias

import libcst as cst

from trl_lint.analysis.program.idioms import named_parameters
from trl_lint.analysis.program.project.classes import FunctionInfo, Parameter
from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import assignments, last_name, loop_targets, of_class
from trl_lint.knowledge import models
from trl_lint.knowledge.library import UNWRAPS
from trl_lint.knowledge.torch import GIVES_PARAMETERS

# The parts of a dotted name: of a model, of a list of models, or of its parameters.
Path: TypeAlias = tuple[str, ...]
# What names of a function are outside it; the paths of a list are those of its elements.
Scope: TypeAlias = Mapping[str, tuple[Path, ...]]
# Whether an expression is true, if that is known.
Known: TypeAlias = Callable[[cst.BaseExpression], bool | None]
# The function that a callee is, in the code of a function or (None) in the code around the call.
Find: TypeAlias = Callable[[FunctionInfo | None, cst.BaseExpression], FunctionInfo | None]

_FLAG, _SWITCH = "requires_grad", "requires_grad_"
MENTIONED = _FLAG.encode()
# Functions whose result has the elements of their arguments.
_SAME_ELEMENTS = frozenset({"chain", "list", "set", "tuple"})
_MAX_DEPTH = 3


class Switch(NamedTuple):
    """A model is frozen, or trained again. but: words in the names of parameters that are not, if those decide."""

    path: Path
    on: bool
    but: frozenset[str] | None = None


class Code(NamedTuple):
    """A piece of code with what is known of its names, and how the functions that it calls are found."""

    scope: Scope
    known: Known
    find: Find
    function: FunctionInfo | None = None  # None for the code that calls: names that are not in the scope are its own
    depth: int = 0

    @property
    def is_closed(self) -> bool:
        return self.function is not None


def may_switch(module: Module, node: cst.CSTNode) -> bool:
    """Whether code mentions `requires_grad`, or calls a function of its file that does."""
    if not module.mentions(rb"\b%b" % MENTIONED):
        return False
    switching = _switching(module)
    return _mentions(node) or any(last_name(each.func) in switching for each in of_class(node, cst.Call))


@noted
def _switching(module: Module) -> frozenset[str]:
    return frozenset(each.name.value for each in of_class(module.tree, cst.FunctionDef) if _mentions(each))


def _mentions(node: cst.CSTNode) -> bool:
    return any(each.attr.value in (_FLAG, _SWITCH) for each in of_class(node, cst.Attribute))


# --- paths ----------------------------------------------------------------------------------------------


def paths_of(expression: cst.BaseExpression, scope: Scope, is_closed: bool = False) -> tuple[Path, ...]:
    """The models that an expression is, or has as elements or as owners of the parameters; none if it is not known."""
    match expression:
        case cst.Name(value=name):
            return scope.get(name, () if is_closed else ((name,),))
        case cst.Attribute(value=owner, attr=cst.Name(value=name)):
            owners = paths_of(owner, scope, is_closed)
            return owners if name == models.INNER_MODEL else tuple((*each, name) for each in owners)
        case cst.List(elements=elements) | cst.Tuple(elements=elements) | cst.Set(elements=elements):
            return tuple(chain.from_iterable(paths_of(each.value, scope, is_closed) for each in elements))
        case cst.Call(func=cst.Attribute(value=model, attr=cst.Name(value=name)), args=[]):
            return paths_of(model, scope, is_closed) if name in GIVES_PARAMETERS else ()
        case cst.Call(func=func, args=args) if last_name(func) in UNWRAPS:
            return paths_of(args[0].value, scope, is_closed) if args else ()
        case cst.Call(func=func, args=args) if last_name(func) in _SAME_ELEMENTS:
            return tuple(chain.from_iterable(paths_of(each.value, scope, is_closed) for each in args))
        case cst.IfExp(body=body, orelse=orelse):
            both = (set(paths_of(each, scope, is_closed)) for each in (body, orelse))
            return tuple(set.intersection(*both))
    return ()


# --- statements -----------------------------------------------------------------------------------------


def switches(statements: Sequence[cst.CSTNode], code: Code) -> Iterator[Switch | None]:
    """The models that statements freeze or train again, in the order of the text; None for each `yield` among them."""
    scope = dict(code.scope)
    yield from _SwitchFinder(code._replace(scope=scope), scope).run(statements)


class _SwitchFinder:
    """Goes through the statements of one function. scope: grows with the names that they bind."""

    def __init__(self, code: Code, scope: dict[str, tuple[Path, ...]]) -> None:
        self._code = code
        self._scope = scope
        self._is_sure = True  # whether each element of the loops around gets here
        self._but: frozenset[str] | None = None  # the words in the names of parameters that do not
        self._names: set[str] = set()  # those of the variables that hold names of parameters

    def run(self, statements: Sequence[cst.CSTNode]) -> Iterator[Switch | None]:
        before = self._is_sure, self._but
        for each in statements:
            yield from self._statement(each)
        self._is_sure, self._but = before

    def _statement(self, node: cst.CSTNode) -> Iterator[Switch | None]:
        match node:
            case cst.SimpleStatementLine(body=body) | cst.SimpleStatementSuite(body=body):
                for each in body:
                    yield from self._small(each)
            case cst.If():
                yield from self._branch(node)
            case cst.For(body=body):
                self._bind(node.target, paths_of(node.iter, self._scope, self._code.is_closed))
                yield from self.run(body.body)
            case cst.With(body=body):
                yield from self.run(body.body)
            case cst.Try(body=body, finalbody=final):
                yield from self.run(body.body)
                yield from self.run(final.body.body if final is not None else ())

    def _branch(self, node: cst.If) -> Iterator[Switch | None]:
        holds = self._holds(node.test)
        before = self._is_sure
        but = self._but
        arms = [(node.body, True)]
        if isinstance(node.orelse, cst.Else):
            arms.append((node.orelse.body, False))
        for suite, outcome in arms:
            self._is_sure = before and holds is outcome
            self._but = self._left_out(node.test, outcome) if before and holds is None else but
            if holds is None or holds is outcome:
                yield from self.run(suite.body)
        if isinstance(node.orelse, cst.If) and holds is not True:
            self._is_sure = before and holds is False
            self._but = None
            yield from self._branch(node.orelse)
        self._is_sure = before and not (holds is None and _leaves(node))
        self._but = self._left_out(node.test, False) if before and not self._is_sure else but

    def _left_out(self, test: cst.BaseExpression, holds: bool) -> frozenset[str] | None:
        return named_parameters.left_out(test, self._names, holds)

    def _holds(self, test: cst.BaseExpression) -> bool | None:
        """Whether a condition holds, which a model that is there meets: `if net is not None`."""
        match test:
            case cst.Comparison(left=cst.Name(value=name), comparisons=[cst.ComparisonTarget(operator, right)]):
                if self._scope.get(name) and isinstance(right, cst.Name) and right.value == "None":
                    return isinstance(operator, cst.IsNot) if isinstance(operator, (cst.Is, cst.IsNot)) else None
        return self._code.known(test)

    def _small(self, node: cst.CSTNode) -> Iterator[Switch | None]:
        match node:
            case cst.Assign(targets=[cst.AssignTarget(cst.Attribute(value=owner, attr=cst.Name(value=name)))]):
                if name == _FLAG:
                    yield from self._set(owner, node.value)
            case cst.Assign(targets=[cst.AssignTarget(cst.Name() as target)]):
                self._bind(target, paths_of(node.value, self._scope, self._code.is_closed))
            case cst.Expr(value=cst.Call() as call):
                yield from self._called(call)
            case cst.Expr(value=cst.Yield()):
                yield None

    def _bind(self, target: cst.BaseAssignTargetExpression, paths: tuple[Path, ...]) -> None:
        """Bind the names of a target; of `name, parameter` and `index, net`, the last is the one that counts."""
        names = [each.value for each in of_class(target, cst.Name)]
        self._names.update(names[:-1])
        for name in names[:-1]:
            self._scope[name] = ()
        for name in names[-1:]:
            known = self._scope.get(name, ())
            self._scope[name] = paths or known if not self._is_sure else paths

    def _set(self, owner: cst.BaseExpression, flag: cst.BaseExpression) -> Iterator[Switch]:
        """`p.requires_grad = "head" in name`, or a literal."""
        on, but = self._code.known(flag), self._left_out(flag, False)
        if on is None and but is not None and self._is_sure:
            yield from (Switch(path, False, but) for path in self._paths(owner))
        else:
            yield from self._switched(owner, on)

    def _switched(self, owner: cst.BaseExpression, on: bool | None) -> Iterator[Switch]:
        """A model that is trained in part only has gradients, and one that is frozen in part only has them still."""
        if on is None or not (on or self._is_sure or self._but is not None):
            return
        for path in self._paths(owner):
            yield Switch(path, on, self._but)

    def _paths(self, owner: cst.BaseExpression) -> tuple[Path, ...]:
        return paths_of(owner, self._scope, self._code.is_closed)

    def _called(self, call: cst.Call) -> Iterator[Switch]:
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == _SWITCH:
            yield from self._set(call.func.value, call.args[0].value if call.args else cst.Name("True"))
            return
        function = self._code.find(self._code.function, call.func) if self._code.depth < _MAX_DEPTH else None
        if function is None or not may_switch(function.module, function.node):
            return
        is_bound = function.cls is not None and not function.is_static
        for each in of_call(function, arguments(function, call, is_bound), self._code):
            if each is not None and (each.on or self._is_sure):
                yield each


def _leaves(node: cst.If) -> bool:
    """Whether code after a statement with this condition is not reached for each element."""
    return any(of_class(node.body, kind) for kind in (cst.Break, cst.Continue, cst.Return))


# --- calls ----------------------------------------------------------------------------------------------


def arguments(function: FunctionInfo, call: cst.Call, is_bound: bool) -> dict[str, list[cst.BaseExpression]]:
    """The expressions that a call passes, by parameter. is_bound: the first parameter is the object of a method."""
    positional = [each for each in call.args if each.keyword is None]
    parameters = list(function.parameters)
    found: dict[str, list[cst.BaseExpression]] = {}
    this = parameters.pop(0).name if is_bound and parameters else ""
    if this and isinstance(call.func, cst.Attribute) and call.func.attr.value == function.name:
        found[this] = [call.func.value]
    for index, parameter in enumerate(parameters):
        if parameter.star == "*":
            found[parameter.name] = [each.value for each in positional[index:]]
            break
        if index >= len(positional) or positional[index].star:
            break
        found[parameter.name] = [positional[index].value]
    found.update({each.keyword.value: [each.value] for each in call.args if each.keyword is not None})
    return found


def of_call(
    function: FunctionInfo, passed: Mapping[str, list[cst.BaseExpression]], caller: Code
) -> Iterator[Switch | None]:
    """What a call of a function of the project freezes or trains again. passed: the arguments, by parameter."""
    if not isinstance(function.node, cst.FunctionDef):
        return
    outside = partial(paths_of, scope=caller.scope, is_closed=caller.is_closed)
    scope = {name: tuple(chain.from_iterable(map(outside, given))) for name, given in passed.items()}
    assigned = {each.value for each, _ in assignments(function.node) if isinstance(each, cst.Name)}
    own = loop_targets(function.node) | assigned
    defaults = {each.name: each for each in function.parameters}

    def known(test: cst.BaseExpression) -> bool | None:
        return _known(test, own, passed, defaults, caller.known)

    yield from switches(function.node.body.body, Code(scope, known, caller.find, function, caller.depth + 1))


def _known(
    test: cst.BaseExpression,
    own: set[str],
    passed: Mapping[str, list[cst.BaseExpression]],
    parameters: Mapping[str, Parameter],
    outside: Known,
) -> bool | None:
    """Whether an expression of a function is true, which may be a parameter that the call has decided on."""
    match test:
        case cst.Name(value="True" | "False" as literal):
            return literal == "True"
        case cst.UnaryOperation(operator=cst.Not(), expression=negated):
            holds = _known(negated, own, passed, parameters, outside)
            return None if holds is None else not holds
        case cst.Name(value=name) if name in parameters and name not in own:
            given = passed.get(name)
            if given is not None:
                return outside(given[0]) if len(given) == 1 and not parameters[name].star else None
            default = parameters[name].default
            return None if default is None else _known(default, own, {}, {}, outside)
    return None
