"""The ZeRO stage of DeepSpeed's settings that code itself passes to `deepspeed.initialize`.

settings = {"zero_optimization": {"stage": 1}}
deepspeed.initialize(model=model, config=settings)           1, whatever settings files lie around
deepspeed.initialize(model=model, config={"bf16": on})       0, the default
deepspeed.initialize(args, model)                            not known: a file named by a command
deepspeed.initialize(model=model, config=given)              not known

DeepSpeed raises if a command names a file as well (deepspeed: `__init__.py::initialize`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from enum import Enum

from trl_lint import quiet_ast
from trl_lint.knowledge.engines import CHOOSES_ENGINE, STAGE, STARTS_DEEPSPEED, WHOLE_STAGES, ZERO_SETTINGS

_CONFIG = ("config", "config_params")
_DEEPEST = 6
# The stages that a value may have or name; None among them: another one, not known.
_Stages = frozenset[int | None]
_OPEN: _Stages = frozenset({None})


class OwnStage(str, Enum):
    """How code that starts DeepSpeed chooses the stage.

    NONE: it starts none. WHOLE: itself, and each parameter stays whole. SHARDED: itself, and it may be the third.
    OPEN: not by itself, as far as known.
    """

    NONE = ""
    WHOLE = "whole"
    SHARDED = "sharded"
    OPEN = "open"


def own_stage(data: bytes) -> OwnStage:
    """How Python code chooses the stage. One that leaves the engine to others as well chooses none."""
    if not all(word in data for word in STARTS_DEEPSPEED):
        return OwnStage.NONE
    tree = quiet_ast.parsed(data)
    stages = frozenset[int | None]().union(*_Code(tree).started()) if tree is not None else _OPEN
    if not stages:
        return OwnStage.NONE
    if None not in stages and max(each or 0 for each in stages) > max(WHOLE_STAGES):
        return OwnStage.SHARDED
    is_open = not WHOLE_STAGES.issuperset(stages) or CHOOSES_ENGINE.search(data) is not None
    return OwnStage.OPEN if is_open else OwnStage.WHOLE


class _Code:
    """The bindings of a file, those of all its functions together: what a name or an attribute may hold."""

    def __init__(self, tree: ast.Module) -> None:
        self._nodes = list(ast.walk(tree))
        self._bound: dict[str, list[ast.expr | None]] = {}
        self._functions: dict[str, list[ast.FunctionDef]] = {}
        for node in self._nodes:
            self._note(node)

    def started(self) -> Iterator[_Stages]:
        """The stages that each start of DeepSpeed may have."""
        modules, names = {"deepspeed"}, set[str]()
        for node in self._nodes:
            if isinstance(node, ast.Import):
                modules.update(each.asname for each in node.names if each.name == "deepspeed" and each.asname)
            elif isinstance(node, ast.ImportFrom) and node.module == "deepspeed":
                names.update(each.asname or each.name for each in node.names if each.name == "initialize")
        for node in self._nodes:
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr="initialize")) if module in modules:
                    yield self._of_start(node)
                case ast.Call(func=ast.Name(id=name)) if name in names:
                    yield self._of_start(node)

    def _of_start(self, call: ast.Call) -> _Stages:
        given = [each.value for each in call.keywords if each.arg in _CONFIG]
        return self._of_settings(given[0], _DEEPEST) if len(given) == 1 else _OPEN

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    self._bind(target, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._bind(target, value)
            case ast.arg(arg=name):
                self._bound.setdefault(name, []).append(None)
            case ast.FunctionDef(name=name):
                self._functions.setdefault(name, []).append(node)
            # `settings.update(more)`: what is overwritten is not known.
            case ast.Call(func=ast.Attribute(value=changed, attr="update")) if key := _key(changed):
                self._bound.setdefault(key, []).append(None)
            case ast.For(target=target) | ast.AugAssign(target=target) | ast.NamedExpr(target=target):
                self._bind(target, None)
            case ast.withitem(optional_vars=ast.expr() as target):
                self._bind(target, None)

    def _bind(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            for each in target.elts:
                self._bind(each, None)
        elif key := _key(target):
            self._bound.setdefault(key, []).append(value)

    def _of_settings(self, node: ast.expr | None, depth: int) -> _Stages:
        """The stages of settings: what binds their name, and what overwrites the stage in them."""
        return self._of_entry(node, ZERO_SETTINGS, depth)

    def _of_zero(self, node: ast.expr | None, depth: int) -> _Stages:
        """The stages of the settings of ZeRO; it was a switch of the first stage once."""
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return frozenset({int(node.value)})
        return self._of_entry(node, STAGE, depth)

    def _of_stage(self, node: ast.expr | None, depth: int) -> _Stages:
        match node:
            case ast.Constant(value=int(stage)):
                return frozenset({stage})
            case ast.IfExp(body=body, orelse=other):
                return self._of_stage(body, depth) | self._of_stage(other, depth)
            case ast.Name() | ast.Attribute() if depth > 0:
                bound = self._bound.get(_key(node)) or [None]
                return frozenset[int | None]().union(*(self._of_stage(each, depth - 1) for each in bound))
        return _OPEN

    def _of_entry(self, node: ast.expr | None, key: str, depth: int) -> _Stages:
        """The stages of an entry of a dict; without it, the stage is 0."""
        inner = self._of_zero if key == ZERO_SETTINGS else self._of_stage
        if depth == 0:
            return _OPEN
        match node:
            case ast.Dict():
                found = [
                    value
                    for name, value in zip(node.keys, node.values, strict=True)
                    if isinstance(name, ast.Constant) and name.value == key
                ]
                return inner(found[-1], depth) if found else _OPEN if None in node.keys else frozenset({0})
            case ast.Call(func=ast.Name(id="dict"), args=[]):
                found = [each.value for each in node.keywords if each.arg == key]
                is_open = any(each.arg is None for each in node.keywords)
                return inner(found[-1], depth) if found else _OPEN if is_open else frozenset({0})
            case ast.IfExp(body=body, orelse=other):
                return self._of_entry(body, key, depth) | self._of_entry(other, key, depth)
            case ast.Call(func=ast.Name(id=name)) if name in self._functions:
                returned = [each.value for made in self._functions[name] for each in _returns(made)]
                ways = (self._of_entry(each, key, depth - 1) for each in returned or [None])
                return frozenset[int | None]().union(*ways)
            case ast.Name() | ast.Attribute():
                return self._of_bound(_key(node), key, depth - 1)
        return _OPEN

    def _of_bound(self, name: str, key: str, depth: int) -> _Stages:
        ways = [self._of_entry(each, key, depth) for each in self._bound.get(name) or [None]]
        inner = self._of_zero if key == ZERO_SETTINGS else self._of_stage
        entry = f"{name}[{key}]"
        ways += [inner(each, depth) for each in self._bound.get(entry, ())]
        ways += [self._of_stage(each, depth) for each in self._bound.get(f"{entry}[{STAGE}]", ())]
        return frozenset[int | None]().union(*ways)


def _returns(function: ast.FunctionDef) -> list[ast.Return]:
    return [each for each in ast.walk(function) if isinstance(each, ast.Return)]


def _key(node: ast.expr) -> str:
    """What a place in the code is known by: `name`, `.attribute`, and `name[key]` for an entry of it; else ""."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(attr=name):
            return f".{name}"
        case ast.Subscript(value=value, slice=ast.Constant(value=str(key))):
            return f"{inner}[{key}]" if (inner := _key(value)) else ""
    return ""
