"""`match`: which of its cases ranks take.

match dist.get_rank():          of the number of a rank, each case is a condition by itself, as in an `if`:
    case 0: dist.barrier()      only some ranks get here
    case _: pass                all the others do
match options.kind:             of anything else, each case may be taken by all ranks
    case "train": fit()
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from trl_lint.analysis.interpreter.conditions.conditions import control_of_condition
from trl_lint.analysis.interpreter.control_flow import process_exits
from trl_lint.analysis.interpreter.control_flow.branches import join_branches, run_body
from trl_lint.analysis.interpreter.expressions import evaluate
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.state.observing import Branch
from trl_lint.domain.control import UNIFORM, Control, Uniformity
from trl_lint.domain.divisions import DividedBy
from trl_lint.domain.heap import Memory
from trl_lint.domain.values import Kind, Value


def run_match(frame: Frame, node: cst.Match) -> bool:
    subject = evaluate(frame, node.subject)
    if subject.kind is Kind.NUMBER and subject.rank.is_by_rank:
        return _run_by_rank(frame, node.cases, subject)
    division = control_of_condition(frame, node.subject, subject)
    before, exits = frame.memory, len(frame.exits)
    inside = before.control.under(division)
    branches: list[tuple[bool, Memory]] = []
    for case in node.cases:
        frame.memory = before.fork()
        frame.memory.control = inside
        branches.append((run_body(frame, case.body), frame.memory))
    frame.memory = before.fork()
    branches.append((True, frame.memory))
    after = before.control.under(division if len(frame.exits) > exits else UNIFORM)
    return join_branches(frame, tuple(branches), inside, after, subject.rank)


def _run_by_rank(frame: Frame, cases: Sequence[cst.MatchCase], subject: Value) -> bool:
    """The first of these cases, or else the others: those are the two branches of a condition on the rank."""
    if not cases:
        return True
    case, others = cases[0], cases[1:]
    if case.guard is not None:
        evaluate(frame, case.guard)
    if _takes_all(case):
        return run_body(frame, case.body)
    step = frame.step(case.pattern, "only some ranks fit `case {}`", subject.provenance)
    division = Control(Uniformity.DIVERGENT, step, subject.rank)
    before, exits, start = frame.memory, len(frame.exits), len(frame.sync_points)
    inside = before.control.under(division)
    frame.memory = before.fork()
    frame.memory.control = inside
    taken = (run_body(frame, case.body), frame.memory)
    exits_of_case, points_of_case = len(frame.exits), len(frame.sync_points)
    frame.memory = before.fork()
    frame.memory.control = inside
    skipped = (_run_by_rank(frame, others, subject), frame.memory)
    branch = Branch(
        case.pattern,
        step,
        (start, points_of_case, len(frame.sync_points)),
        (taken[0], skipped[0]),
        (process_exits.exits_in(frame, exits, exits_of_case), process_exits.exits_in(frame, exits_of_case)),
        subject.rank.origins,
        by=DividedBy.CASE,
    )
    for observe in frame.observers.branch:
        observe(frame, branch)
    after = before.control.under(division if len(frame.exits) > exits else UNIFORM)
    return join_branches(frame, (taken, skipped), inside, after, subject.rank)


def _takes_all(case: cst.MatchCase) -> bool:
    """Whether a case fits whatever the value is: `case _`, `case rank`."""
    return isinstance(case.pattern, cst.MatchAs) and case.pattern.pattern is None and case.guard is None
