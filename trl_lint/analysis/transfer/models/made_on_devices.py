"""Blocks in which tensors are created on another device by default, and what they create.

For example:

    with torch.device("meta"):             tensors without contents, which no collective takes
        model = Model(config)
    with torch.device("cuda"):             only a model: of the files of its classes, tensors may be on that device
        model = Model(config).to(torch.bfloat16)
    with torch.device("cuda"):             whatever is created here, and by what this calls
        total = torch.zeros(2)
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ClassValue
from trl_lint.analysis.program.project.classes import is_module_class
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import innermost
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.kinds import LibraryName
from trl_lint.domain.values import UNKNOWN, Kind
from trl_lint.knowledge import library

# The device of tensors that have a shape and no contents.
_NO_CONTENTS = "meta"


def is_without_contents(frame: Frame, item: cst.BaseExpression) -> bool:
    """Whether the context of a block is `torch.device("meta")`."""
    args = item.args if isinstance(item, cst.Call) else ()
    return any(frame.value_of(each.value).const == _NO_CONTENTS for each in args)


def files_of_models(frame: Frame, item: cst.BaseExpression) -> list[Module] | None:
    """The files with the classes of the models that a block makes, if it makes nothing else."""
    block = innermost(frame.root, item, cst.With)
    lines = block.body.body if block is not None else ()
    found: list[Module] = []
    for line in lines:
        match line:
            case cst.SimpleStatementLine(body=[cst.Assign(value=made) | cst.Expr(value=made)]):
                files = _files_of(frame, made)
                if files is None:
                    return None
                found += files
            case _:
                return None
    return found


def _files_of(frame: Frame, made: cst.BaseExpression) -> list[Module] | None:
    """The files of the class of a model that an expression makes: `Model(config).to(dtype)`; None for others."""
    first = _first_call(made)
    callee = UNKNOWN if first is None else frame.engine.settle(frame.engine.evaluate(frame, first.func))
    if isinstance(callee, ClassValue) and is_module_class(callee.cls):
        return [each.module for each in callee.cls.project_lineage()]
    return [] if isinstance(callee, LibraryName) and _makes_model(library.canonical(callee.name)) else None


def _first_call(made: cst.BaseExpression) -> cst.Call | None:
    """The call of a chain that is made first: `Model(config)` in `Model(config).to(dtype).train()`."""
    first = None
    while isinstance(made, cst.Call):
        first = made
        made = made.func.value if isinstance(made.func, cst.Attribute) else made.func
    return first


def _makes_model(name: str) -> bool:
    loaded = library.maker(name)
    return library.is_model_class(name) or (loaded is not None and loaded.kind is Kind.MODEL)
