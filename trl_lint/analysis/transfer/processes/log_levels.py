"""Which calls set the level of a log by the rank, so that the other ranks do not show what is only informative.

logging.basicConfig(level=logging.INFO if rank in (-1, 0) else logging.WARN)     of all loggers: ""
logger.setLevel(logging.INFO if is_main else logging.ERROR)                      of one: "logger"
if rank == 0:
    logging.basicConfig(level=logging.INFO)                                      of all: the others stay at WARNING
logger.setLevel(logging.INFO)                                                    None
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import resolved
from trl_lint.domain.ranks import Origin
from trl_lint.knowledge.loggers import SETS_LEVEL, SETS_LEVEL_OF_ALL

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame

OF_ALL = ""


def set_by_rank(frame: Frame, name: str, args: Arguments, node: cst.CSTNode) -> str | None:
    """The logger whose level a call of this name sets by the rank, as code names it; OF_ALL for all; None for none."""
    level = args.expression("level")
    match node:
        case cst.Call() if name == SETS_LEVEL_OF_ALL:
            logger = OF_ALL
        case cst.Call(func=cst.Attribute(value=cst.Name(logger))) if name == SETS_LEVEL:
            level = args.expression(0) or level
        case _:
            return None
    is_by_rank = frame.memory.control.is_chosen_by_rank or _is_chosen_by_rank(frame, level)
    return logger if level is not None and is_by_rank else None


def _is_chosen_by_rank(frame: Frame, level: cst.BaseExpression | None) -> bool:
    chosen = None if level is None else resolved(frame.root, level)
    test = frame.known_value(chosen.test) if isinstance(chosen, cst.IfExp) else None
    return test is not None and test.rank.differs and Origin.RANK in test.rank.origins
