"""Targets of loops whose class a line before declares, as Python has no annotations in a `for`.

    metric: Metric
    for name, metric in self.items():
        metric.to_pandas()                an object of `Metric`, if nothing else is known of it

Only classes of the project count.
"""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.syntax import of_class
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.values import UNKNOWN


def fill(frame: Frame, loop: cst.For) -> None:
    """Make the targets of a loop of which nothing is known what the function has declared."""
    if not isinstance(frame.root, cst.FunctionDef):
        return
    declared = _declared(frame.root)
    targets = of_class(loop.target, cst.Name) if declared else ()
    for name in (each.value for each in targets if each.value in declared):
        found = frame.engine.annotated(frame, declared[name]) if frame.memory.names.get(name) is UNKNOWN else None
        if isinstance(found, ProjectInstance):
            frame.memory.names[name] = found


@tree_cache(1024)
def _declared(root: cst.FunctionDef) -> Mapping[str, cst.BaseExpression]:
    """The annotations of a function's names that get no value on their line."""
    lines = (each for each in of_class(root, cst.AnnAssign) if each.value is None)
    return {each.target.value: each.annotation.annotation for each in lines if isinstance(each.target, cst.Name)}
