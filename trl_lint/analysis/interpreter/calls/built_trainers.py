"""Trainers of Lightning that hydra builds from settings, told by how they are used.

trainer = hydra.utils.instantiate(cfg.trainer, logger=logger)      Trainer(**cfg.trainer, logger=logger)
trainer: Trainer = hydra.utils.instantiate(cfg.trainer)            Trainer(**cfg.trainer)
trainer.fit(model, datamodule=data)                                `datamodule` is a parameter of no other `fit`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.lightning_trainers import imported_trainer, runs_models
from trl_lint.analysis.program.syntax import assignments, last_name, of_class
from trl_lint.analysis.state import settings
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.domain.kinds import LibraryName

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value


def _built(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`hydra.utils.instantiate(cfg.trainer)`: of what class it is, the settings say."""
    names = {last_name(target) for target, value in assignments(frame.root) if value is node}
    names |= {last_name(each.target) for each in of_class(frame.root, cst.AnnAssign) if each.value is node}
    name = imported_trainer(frame.module)
    if not name or not runs_models(frame.root, names):
        return frame.engine.unresolved(frame, args, node)
    passed = Arguments(keywords=args.keywords)
    passed.double = settings.SETTING
    passed.nodes = {key: each for key, each in args.nodes.items() if isinstance(key, str)}
    return frame.engine.call_value(frame, LibraryName(name), passed, node)


HANDLERS: dict[str, Callable[[Frame, Arguments, cst.CSTNode], Value]] = {"hydra.utils.instantiate": _built}
