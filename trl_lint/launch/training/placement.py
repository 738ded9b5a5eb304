"""Whether a piece of code chooses the processes, or the devices of its models, itself.

A `device_map` can't always be determined statically. One that can't silences the rule: a model that is spread over the
GPUs is not wrapped (transformers/trainer.py, `is_model_parallel`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import pairwise

from trl_lint.knowledge.backends import ANY_GPU, SPREADING
from trl_lint.knowledge.process_starts import DISTINCT_STARTS, START_RANKS
from trl_lint.launch.judge.gpus import VISIBLE
from trl_lint.launch.judge.launchers import LAUNCHER_MODULES, launcher

# Functions that start the processes themselves, or wait for others, by their names, or the end of their dotted names:
# a seed can `spawn` others, too.
_OWN_LAUNCHERS = (START_RANKS - {"spawn"}) | DISTINCT_STARTS | {"TorchTrainer"}
_SPAWNS = frozenset({"spawn", "idist.spawn", "mp.spawn", "multiprocessing.spawn", "xmp.spawn"})
# Functions that spread a model over the GPUs, by the end of their dotted names (accelerate/big_modeling.py,
# utils/modeling.py; tensor_parallel/factory.py).
_SPREADERS = frozenset({"infer_auto_device_map", "dispatch_model", "load_checkpoint_and_dispatch", "tensor_parallel"})
# A device map with the process's own GPU only (trl/trainer/utils.py).
_OWN_DEVICE = frozenset({"get_kbit_device_map"})
_CPU = frozenset({"use_cpu", "no_cuda", "cpu"})
# Attributes of the model and of TrainingArguments that keep Trainer from wrapping the model, unless they are false.
_UNWRAPPED = frozenset({"is_parallelizable", "model_parallel", "_n_gpu"})
_MAP = "device_map"
# Functions that run a command line given as one string, and those that take it word by word after the program (os,
# subprocess).
_SHELLS = frozenset({"Popen", "call", "check_call", "check_output", "run", "system"})
_WITH_WORDS = frozenset({"execl", "execle", "execlp", "execlpe", "spawnl", "spawnle", "spawnlp", "spawnlpe"})
_DEEPEST = 4


class _Kind(IntEnum):
    """What a device map does; the larger value is the worse one."""

    ONE_DEVICE = 0
    UNKNOWN = 1
    SPREAD = 2


class ProcessPlacement:
    """What the nodes seen so far say about processes and devices."""

    def __init__(self) -> None:
        self._certain = False
        self._bound: dict[str, list[ast.expr | None]] = {}
        self._defaults: list[ast.expr] = []
        self._given: list[ast.expr] = []

    def visit(self, node: ast.AST) -> None:
        """Note what one node says, without its children."""
        if isinstance(node, ast.Call):
            self._visit_call(node)
        elif isinstance(node, (ast.List, ast.Tuple)):
            self._certain |= _is_launch([_text(each) or "" for each in node.elts])
        elif isinstance(node, ast.Dict):
            self._given += (value for key, value in zip(node.keys, node.values, strict=True) if _text(key) == _MAP)
        elif isinstance(node, ast.arguments):
            for name, value in _parameters(node):
                self._bind(name, value)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                self._visit_target(target, node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._visit_target(node.target, node.value)

    def chosen(self) -> bool:
        """Whether the code seen chooses processes or devices, as far as it can be determined."""
        if self._certain or any(self._kind(each) is not _Kind.ONE_DEVICE for each in self._given):
            return True
        return any(self._kind(each) is _Kind.SPREAD for each in self._defaults)

    def _visit_call(self, node: ast.Call) -> None:
        name = dotted(node.func) or ""
        last = name.rpartition(".")[2]
        first, second = [_text(each) for each in [*node.args, None, None][:2]]
        self._certain |= last in _OWN_LAUNCHERS or last in _SPREADERS or ".".join(name.split(".")[-2:]) in _SPAWNS
        self._certain |= last in _SHELLS and _is_launch((first or "").split())
        self._certain |= last in _WITH_WORDS and _is_launch([_text(each) or "" for each in node.args[1:]])
        self._certain |= name.endswith("environ.setdefault") and first in VISIBLE
        self._certain |= name == "setattr" and second in _UNWRAPPED and not _is_off(node.args[2:])
        for keyword in node.keywords:
            constant = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
            self._certain |= keyword.arg in _CPU and constant is True
            # Models with 8-bit weights are not wrapped either (transformers/trainer.py, is_loaded_in_8bit).
            self._certain |= keyword.arg == "load_in_8bit" and constant is True and last == "from_pretrained"
            if keyword.arg == _MAP:
                self._given.append(keyword.value)
            elif keyword.arg == "default" and last == "add_argument" and (first or "").lstrip("-") == _MAP:
                self._defaults.append(keyword.value)

    def _visit_target(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Subscript):
            key = _text(target.slice)
            self._certain |= (dotted(target.value) or "").endswith("environ") and key in VISIBLE
            if key == _MAP:
                self._given.append(value)
        elif isinstance(target, ast.Attribute):
            self._certain |= target.attr in _UNWRAPPED and not _is_off([value])
        elif isinstance(target, ast.Name):
            self._bind(target.id, value)

    def _bind(self, name: str, value: ast.expr | None) -> None:
        self._bound.setdefault(name, []).append(value)
        if name == _MAP and value is not None:
            self._defaults.append(value)

    def _kind(self, node: ast.expr | None, depth: int = 0) -> _Kind:
        """What a device map does; None is a value that only a caller knows."""
        if node is None or depth > _DEEPEST:
            return _Kind.UNKNOWN
        if isinstance(node, ast.Constant):
            if node.value == ANY_GPU:
                return _Kind.UNKNOWN
            return _Kind.SPREAD if node.value in SPREADING else _Kind.ONE_DEVICE
        if isinstance(node, ast.Dict):
            return _Kind.ONE_DEVICE if [_text(key) for key in node.keys] == [""] else _Kind.UNKNOWN
        if isinstance(node, ast.Call):
            return self._kind_of_call(node, depth)
        if isinstance(node, ast.Name):
            return max(self._kind(each, depth + 1) for each in self._bound.get(node.id, [None]))
        if isinstance(node, (ast.IfExp, ast.BoolOp)):
            parts = [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values
            return max(self._kind(each, depth + 1) for each in parts)
        return _Kind.UNKNOWN

    def _kind_of_call(self, node: ast.Call, depth: int) -> _Kind:
        name = (dotted(node.func) or "").rpartition(".")[2]
        default = next((each.value for each in node.keywords if each.arg == "default"), None)
        if name == "field" and default is not None:
            return self._kind(default, depth + 1)
        return _Kind.ONE_DEVICE if name in _OWN_DEVICE else _Kind.UNKNOWN


def _is_off(values: Sequence[ast.expr]) -> bool:
    """Whether an attribute is set to what it is without that, as a model's own `__init__` does."""
    return bool(values) and isinstance(values[0], ast.Constant) and values[0].value is False


def _is_launch(words: Sequence[str]) -> bool:
    """Whether a command line built in the code is that of a launcher, which starts the processes."""
    if len(words) > 1 and launcher([*words]) is not None:
        return True
    return any(flag == "-m" and module in LAUNCHER_MODULES for flag, module in pairwise(words))


def _parameters(node: ast.arguments) -> Iterator[tuple[str, ast.expr | None]]:
    """The parameters with their defaults, None if there is none."""
    names = [*node.posonlyargs, *node.args]
    defaults = [None] * (len(names) - len(node.defaults)) + list(node.defaults)
    for argument, default in zip([*names, *node.kwonlyargs], [*defaults, *node.kw_defaults], strict=True):
        yield argument.arg, default


def _text(node: ast.AST | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def dotted(node: ast.AST) -> str | None:
    """`a.b.c` for a chain of names."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])
