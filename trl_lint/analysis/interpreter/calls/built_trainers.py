"""Trainers of Lightning that hydra builds from settings, told by how they are used.

trainer = hydra.utils.instantiate(cfg.trainer, logger=logger)      Trainer(**cfg.trainer, logger=logger)
trainer.fit(model, datamodule=data)                                `datamodule` is a parameter of no other `fit`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import assignments, last_name, of_class
from trl_lint.analysis.state import settings
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.domain.kinds import LibraryName
from trl_lint.knowledge.lightning import BUILT_TRAINERS, ONLY_TRAINERS_TAKE, RUN_MODELS

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


def _built(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`hydra.utils.instantiate(cfg.trainer)`: of what class it is, the settings say."""
    if not _is_trainer(frame.root, node):
        return frame.engine.unresolved(frame, args, node)
    name = next(name for mentioned, name in BUILT_TRAINERS if frame.module.mentions(mentioned))
    passed = Arguments(keywords=args.keywords)
    passed.double = settings.SETTING
    passed.nodes = {key: each for key, each in args.nodes.items() if isinstance(key, str)}
    return frame.engine.call_value(frame, LibraryName(name), passed, node)


def _is_trainer(root: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Whether a result is kept under a name that then runs a model as only a Trainer does."""
    names = {last_name(target) for target, value in assignments(root) if value is node}
    return any(
        last_name(call.func) in RUN_MODELS
        and isinstance(call.func, cst.Attribute)
        and last_name(call.func.value) in names
        and any(each.keyword is not None and each.keyword.value in ONLY_TRAINERS_TAKE for each in call.args)
        for call in of_class(root, cst.Call)
    )


HANDLERS: dict[str, Callable[[Frame, Arguments, cst.CSTNode], Value]] = {"hydra.utils.instantiate": _built}
