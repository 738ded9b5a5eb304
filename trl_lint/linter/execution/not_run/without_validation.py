"""Programs that have Lightning validate nothing, or give it no data for that: the validation hooks never run.

    class Data(LightningDataModule):
        def val_dataloader(self): pass          nothing: Lightning skips the validation
    trainer.fit(Net(), Data())
    trainer.fit(Net(), loader)                  not known, if it is no data module of this file
    Trainer(limit_val_batches=0).fit(…)         nothing, if all programs that train a `Net` say so (`unvalidated.py`)

Source: lightning/pytorch/loops/evaluation_loop.py `_EvaluationLoop.skip`, of lightning 2.6.0
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from trl_lint.analysis.program.blocks import is_blank
from trl_lint.analysis.program.definitions.call_order import methods_run_by
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import (
    assigned_once,
    assignments,
    definitions_around,
    is_literal_none,
    last_name,
    of_class,
)
from trl_lint.knowledge.lightning import OF_EVALUATION, OF_TRAINER, VALIDATION_DATA, is_module
from trl_lint.launch.judge.engines import is_program

# Another way to pass data to validate on, or to have a model validated.
_VALIDATES = rb"\bval_dataloaders\b|\.validate\("


def is_without_validation(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is in a method of a module that is only called in a validation, and no program has any."""
    unvalidated, may_have_no_data = module.engines().unvalidated, _may_have_no_data(module)
    if not unvalidated and not may_have_no_data:
        return False
    around = {id(each) for each in definitions_around(module.tree, node)}
    cls = next((each for each in module.classes if id(each.node) in around), None)
    if cls is None or not is_module(cls.library_bases()) or not _is_only_in(cls, around):
        return False
    return cls.name in unvalidated or (may_have_no_data and _has_none(module, cls))


def _may_have_no_data(module: Module) -> bool:
    """Whether a file is a program that gives no loader for a validation. Another file that imports it may have one."""
    return is_program(module.source or b"") and not module.engines().imported and not module.mentions(_VALIDATES)


def _has_none(module: Module, cls: ClassInfo) -> bool:
    return module.notes.cached((is_without_validation, cls), lambda: _has_no_data(module, cls))


def _is_only_in(cls: ClassInfo, around: set[int]) -> bool:
    """Whether a method, given with what is around it by the ids of the nodes, is run by hooks of a validation alone."""
    hooks = {name for name in OF_TRAINER if any(id(each.node) in around for each in methods_run_by(cls, name))}
    return bool(hooks) and hooks <= OF_EVALUATION


def _has_no_data(module: Module, model: ClassInfo) -> bool:
    """Whether no `fit` of a program passes data to validate on a module of this class."""
    empty = {each.name for each in module.classes if _is_empty(each)}
    fits = [each for each in of_class(module.tree, cst.Call) if last_name(each.func) == "fit"]
    if not fits or any(arg.star for each in fits for arg in each.args):
        return False
    given = [list(_data_of(each)) for each in fits]
    own = _is_empty(model) or (model.find(VALIDATION_DATA) is None and all(given))
    return own and all(_made_of(module, data) in empty for each in given for data in each)


def _is_empty(cls: ClassInfo) -> bool:
    """Whether the class has a method for data to validate on that returns none."""
    method = cls.find(VALIDATION_DATA)
    return method is not None and isinstance(method.node, cst.FunctionDef) and _returns_none(method.node)


def _returns_none(function: cst.FunctionDef) -> bool:
    returns = of_class(function, cst.Return)
    only = function.body.body[-1] if len(function.body.body) == 1 else None
    is_return = isinstance(only, cst.SimpleStatementLine) and len(only.body) == 1 and only.body[0] in returns
    if is_return:
        value = returns[0].value
        return value is None or is_literal_none(value)
    return is_blank(function.body) and not of_class(function, cst.Raise)


def _data_of(call: cst.Call) -> Iterator[cst.BaseExpression]:
    """What a `fit` is given beside the model."""
    for index, arg in enumerate(call.args):
        keyword = arg.keyword.value if arg.keyword is not None else ""
        if keyword == "datamodule" or keyword.endswith("dataloaders") or (index > 0 and not keyword):
            yield arg.value


def _made_of(module: Module, data: cst.BaseExpression) -> str:
    """The class of an object that is made in the file, by its name; "" if that is not known."""
    made: cst.BaseExpression | None = data
    if isinstance(data, cst.Name):
        targets = [target for target, _ in assignments(module.tree) if isinstance(target, cst.Name)]
        is_once = sum(each.value == data.value for each in targets) == 1
        made = assigned_once(module.tree, data.value) if is_once else None
    return made.func.value if isinstance(made, cst.Call) and isinstance(made.func, cst.Name) else ""
