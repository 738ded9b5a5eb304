"""detectron2's trainers and their hooks.

Read from detectron2 0.6 (`detectron2/engine/train_loop.py`).
"""

from __future__ import annotations

from trl_lint.knowledge.schema import SAME_NUMBER, Attribute, Class, Row, created

_HOOK, _TRAINER = "detectron2.engine.HookBase", "detectron2.engine.TrainerBase"
_SOURCE = "detectron2/engine/train_loop.py::"
# fmt: off
ROWS: tuple[Row, ...] = (
    Class(name=_HOOK, source=f"{_SOURCE}HookBase"),
    Attribute(name=f"{_HOOK}.trainer", source=f"{_SOURCE}HookBase.trainer", value=created(_TRAINER)),
    Class(name=_TRAINER, source=f"{_SOURCE}TrainerBase"),
    # All ranks make the same number of steps, and are at the same one.
    *(Attribute(name=f"{_TRAINER}.{name}", source=f"{_SOURCE}TrainerBase.train", value=SAME_NUMBER)
      for name in ("iter", "max_iter", "start_iter")),
)
# fmt: on

# What a program makes for its trainer on each process, and the methods that the trainer calls on each.
RUN_BY_ALL = {_HOOK: frozenset({"__init__", "after_step", "after_train", "before_step", "before_train"})}
# Code that starts several processes, or joins them: without it, a trainer is one process.
STARTS_SEVERAL = rb"\b(?:init_process_group|launch)\("
