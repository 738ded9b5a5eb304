"""Files that a rank finds by listing a folder in its turn, and removes: the ranks that come later find none of them.

For example:

    with accelerator.main_process_first():
        for path in glob.glob("best*.pth"):
            os.remove(path)                      none is left for the others
    paths = glob.glob("best*.pth")
    with accelerator.main_process_first():
        for path in paths:
            os.remove(path)                      the others still have them in their lists
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import below
from trl_lint.domain.provenance import OneByOne, SharedName, source_step

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.schema import Effect


def leaves_none(frame: Frame, effect: Effect, path: Value | None) -> bool:
    """Whether an effect takes the file away that it is on, and each rank lists the files when it is its turn."""
    listed = None if path is None else source_step(path.provenance)
    if not isinstance(listed, SharedName) or not effect.fails or effect.makes:
        return False
    steps = [each.provenance for each in frame.memory.control.conditions]
    return any(isinstance(each, OneByOne) and _is_during(frame, listed.node, each.node) for each in steps)


def _is_during(frame: Frame, listing: cst.CSTNode, turn: cst.CSTNode) -> bool:
    """Whether a rank lists in its turn, which begins in this function or, if all of it is in the turn, in a caller."""
    begins_here = any(each is turn for each in below(frame.root))
    return any(each is listing for each in below(turn if begins_here else frame.root))
