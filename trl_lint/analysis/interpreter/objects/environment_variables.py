"""Environment variables: the rank and the world size by the names that launchers give them, and what the file sets.

For example:

    os.environ["RANK"]                            local(rank)
    os.environ["RANK"]                            this code is run once per process: it would fail without a launcher
    os.environ["HOME"]                            same
    os.environ["SEED"] = str(rank); os.environ["SEED"]     unknown
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.unit_tests import is_test
from trl_lint.analysis.program.idioms.passed_ranks import is_set_by_file, passed_ranks
from trl_lint.analysis.program.syntax import ancestors
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.constants import MISSING, WORLD_SIZE
from trl_lint.domain.control import Uniformity
from trl_lint.domain.devices import GLOBAL_RANK, GLOBAL_SIZE, Device
from trl_lint.domain.kinds import StringValue
from trl_lint.domain.provenance import LauncherVariable, Step
from trl_lint.domain.values import SAME, UNKNOWN, Value
from trl_lint.knowledge.launcher_variables import (
    GLOBAL_RANK_VARIABLES,
    RANK_VARIABLES,
    REQUIRED_VARIABLES,
    WORLD_VARIABLES,
)

# What is in one of these may allow for a variable that is not there.
_HANDLING = (cst.IfExp, cst.Try, cst.TryStar)


def required(frame: Frame, name: Value, node: cst.CSTNode) -> Value:
    """`os.environ[name]`: where nothing allows for its absence, a launcher has started each process that gets here."""
    is_set_by_launcher = name.const in REQUIRED_VARIABLES and not is_set_by_file(frame.module, name.const)
    is_certain = frame.memory.control.uniformity is Uniformity.UNIFORM and not is_test(frame.function)
    if is_set_by_launcher and is_certain:
        is_required = not any(isinstance(each, _HANDLING) for each in ancestors(frame.root, node))
        if is_required:
            frame.trace.launch(Step(frame.module, node, "a launcher sets `{}` for each process"), node)
    return environment(frame, name)


class RankLocalVariables:
    """The environment variables to which a file assigns a rank-local value."""

    def __init__(self) -> None:
        self.names: set[str] = set()


def set_variable(frame: Frame, name: Value, value: Value) -> None:
    """`os.environ[name] = value`."""
    if value.rank.differs and isinstance(name.const, str):
        frame.module.notes.of(RankLocalVariables).names.add(name.const)
        frame.engine.note_stored(RankLocalVariables, frame.module, name.const)


def environment(frame: Frame, name: Value) -> Value:
    """The value of an environment variable; if its name is not known, it may be the rank."""
    if name.const is MISSING:
        return UNKNOWN
    if name.const in RANK_VARIABLES or name.const in passed_ranks(frame.engine.project, frame.module).variables:
        provenance = LauncherVariable(frame.module, frame.statement, f"`{name.const}` is the number of this rank")
        place = Device(GLOBAL_RANK, provenance) if name.const in GLOBAL_RANK_VARIABLES else ""
        return StringValue(ranks.RANK_LOCAL, provenance=provenance, device=place)
    if name.const in WORLD_VARIABLES:
        return StringValue(ranks.SAME, const=WORLD_SIZE, device=GLOBAL_SIZE)
    return UNKNOWN if name.const in frame.module.notes.of(RankLocalVariables).names else SAME
