"""What a file has Trainers of Lightning run, and whether they ever validate: read with `ast`, without an analysis.

trainer = Trainer(limit_val_batches=0)
trainer.fit(Net(), data)                  it runs a `Net`, and never validates it
trainer = build(settings)
trainer.fit(Net(), DataLoader(rows))      nor does it here, in a project that has no data to validate on
trainer = build(settings)
trainer.fit(Net(), data)                  it may validate
run(trainer.fit)                          what it runs is not known

Source: lightning/pytorch/trainer/trainer.py `Trainer.enable_validation`, `Trainer._run_sanity_check`; trainer/setup.py
`_init_debugging_flags`, which may set the limit itself. The same in pytorch_lightning 1.4, `DebuggingConnector`.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import NamedTuple

from trl_lint import quiet_ast
from trl_lint.knowledge.lightning_runs import (
    CLI,
    MAKE_OWN,
    OTHER_LIMITS,
    OTHERS_OF_FIT,
    TRAINING_DATA,
    VALIDATED_BATCHES,
    VALIDATES,
)

_RUNS = frozenset({"fit", VALIDATES})


class TrainerRuns(NamedTuple):
    """What a file has Lightning run.

    validates: False if it runs something, and surely never validates it. made: the names of the classes, or functions,
    that make what it runs; None if one is not known.
    """

    validates: bool = True
    made: frozenset[str] | None = None


def runs_in(content: bytes, makers_of_training_data: Collection[str] = ()) -> TrainerRuns:
    """What the code of a file has Lightning run. makers_of_training_data: the names of what makes no other data."""
    tree = quiet_ast.parsed(content)
    if tree is None:
        return TrainerRuns()
    file = _BoundNames(tree, makers_of_training_data)
    runs = [each for each in file.calls if isinstance(each.func, ast.Attribute) and each.func.attr in _RUNS]
    named = sum(isinstance(each, ast.Attribute) and each.attr in _RUNS for each in file.nodes)
    if named > len(runs) or any(_last_name(each) == CLI for each in file.nodes):
        return TrainerRuns()
    makers = [file.maker_of_model(each) for each in runs]
    made = None if None in makers else frozenset(each for each in makers if each is not None)
    return TrainerRuns(not runs or not all(map(file.never_validates, runs)), made)


class _BoundNames:
    """The code of a file: its calls, and what it assigns."""

    def __init__(self, tree: ast.Module, makers_of_training_data: Collection[str]) -> None:
        self._makers_of_training_data = makers_of_training_data
        self.nodes = list(ast.walk(tree))
        self.calls = [each for each in self.nodes if isinstance(each, ast.Call)]
        self._values: dict[str, list[ast.expr | None]] = {}
        for target, value in _bound(self.nodes):
            self._values.setdefault(target, []).append(value)

    def never_validates(self, run: ast.Call) -> bool:
        """Whether a run is a `fit` of a Trainer that is made here for no validation, or on no data for one."""
        func = run.func
        if not isinstance(func, ast.Attribute) or func.attr == VALIDATES:
            return False
        if self._is_on_training_data(run):
            return True
        makers = self._calls_that_make(func.value)
        return bool(makers) and all(each is not None and _is_without_validation(each) for each in makers)

    def _is_on_training_data(self, run: ast.Call) -> bool:
        """`trainer.fit(model, DataLoader(rows))`"""
        keywords = {each.arg or "**": each.value for each in run.keywords}
        data = [*run.args[1:], *(value for name, value in keywords.items() if name in TRAINING_DATA)]
        if len(data) != 1 or any(isinstance(each, ast.Starred) for each in run.args):
            return False
        if not keywords.keys() <= TRAINING_DATA | OTHERS_OF_FIT:
            return False
        makers = self._calls_that_make(data[0])
        names = (each is not None and _last_name(each.func) in self._makers_of_training_data for each in makers)
        return bool(makers) and all(names)

    def maker_of_model(self, run: ast.Call) -> str | None:
        """The name of what makes the object that is run; None if it is not known, or not always the same."""
        given = [*run.args[:1], *(each.value for each in run.keywords if each.arg == "model")]
        makers = self._calls_that_make(given[0]) if given else []
        names = {"" if each is None else _class_of(each.func) for each in makers}
        return names.pop() or None if len(names) == 1 else None

    def _calls_that_make(self, value: ast.expr) -> list[ast.Call | None]:
        """The calls whose result an expression may be; None for anything else."""
        if isinstance(value, ast.Name):
            found = self._values.get(value.id, [])
        else:
            found = self._values.get(ast.unparse(value), []) if isinstance(value, ast.Attribute) else [value]
        return [each if isinstance(each, ast.Call) else None for each in found]


def _bound(nodes: list[ast.AST]) -> Iterator[tuple[str, ast.expr | None]]:
    """What is assigned to, as text, each with the value; None for what is bound in another way."""
    plain = {id(each) for node in nodes if isinstance(node, ast.Assign) for each in node.targets}
    for node in nodes:
        if isinstance(node, ast.Assign):
            yield from ((ast.unparse(each), node.value) for each in node.targets if isinstance(each, _TARGETS))
        elif isinstance(node, _TARGETS) and isinstance(node.ctx, ast.Store) and id(node) not in plain:
            yield ast.unparse(node), None
        elif isinstance(node, ast.arg):
            yield node.arg, None
        elif isinstance(node, ast.alias):
            yield node.asname or node.name, None


_TARGETS = (ast.Attribute, ast.Name)


def _is_without_validation(call: ast.Call) -> bool:
    """`Trainer(limit_val_batches=0)`; debugging by one or a few batches sets the limit itself."""
    given = {each.arg: each.value for each in call.keywords}
    limit, others = given.get(VALIDATED_BATCHES), [given[each] for each in OTHER_LIMITS if each in given]
    if _last_name(call.func) not in MAKE_OWN or limit is None:
        return False
    return all(isinstance(each, ast.Constant) and each.value == 0 for each in (limit, *others))


def _class_of(func: ast.expr) -> str:
    """`Net(…)`, `nets.Net(…)`, `Net.load_from_checkpoint(…)`: the name of the class, or of a function."""
    name = _last_name(func)
    return _last_name(func.value) if isinstance(func, ast.Attribute) and name == "load_from_checkpoint" else name


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
