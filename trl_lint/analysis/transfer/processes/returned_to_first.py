"""Results that a function returns to the first process and None to the others, by a test of its own.

def evaluate(model, gpu):
    scores = …
    if not args.distributed or gpu == 0:
        return scores
    return None

scores = evaluate(model, args.gpu)
if scores is not None:
    torch.save(scores, path)              only the first process gets here, whatever is known of `args.gpu`
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.objects import FunctionValue
from trl_lint.analysis.program.idioms.path_conditions import alternatives, ifs_around, none_test_operand, parts_of
from trl_lint.analysis.program.syntax import assigned_once, identifiers, is_literal_none, last_name, of_class
from trl_lint.knowledge.heuristics import MAIN_PROCESS, MAY_ASK_FOR_RANK, RANK_FIELD, is_rank_name

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame


def is_asked_for(frame: Frame, node: cst.CSTNode) -> bool:
    """Whether a place is under a condition that a result is there which a function returns to the first process."""
    return any(
        _is_returned_to_first(frame, name)
        for branch, holds in ifs_around(frame.root, node)
        for part in (parts_of(branch.test) if holds else ())
        for name in _asked_for(part)
    )


def _asked_for(test: cst.CSTNode) -> list[str]:
    """The name of which a condition asks whether it is there: `scores is not None`, `scores`."""
    match test:
        case cst.Name(name):
            return [name]
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=cst.IsNot())]):
            subject = none_test_operand(test)
            return [subject.value] if isinstance(subject, cst.Name) else []
    return []


def _is_returned_to_first(frame: Frame, name: str) -> bool:
    made = assigned_once(frame.root, name)
    if not isinstance(made, cst.Call) or not isinstance(made.func, cst.Name):
        return False
    known = frame.engine.lookup(frame, made.func.value)
    settled = None if known is None else frame.engine.settle(known)
    code = settled.function.node if isinstance(settled, FunctionValue) else None
    if not isinstance(code, cst.FunctionDef):
        return False
    results = [each for each in of_class(code.body, cst.Return) if not _is_none(each)]
    return bool(results) and all(_is_for_first(code, each) for each in results)


def _is_none(statement: cst.Return) -> bool:
    return statement.value is None or is_literal_none(statement.value)


def _is_for_first(code: cst.FunctionDef, statement: cst.Return) -> bool:
    around = ifs_around(code, statement)
    return any(holds and any(map(_is_first, alternatives(branch.test))) for branch, holds in around)


def _is_first(test: cst.CSTNode) -> bool:
    """Whether a test holds on the first process, by its names: `gpu == 0`, `is_main_process()`."""
    match test:
        case cst.Comparison(left, [cst.ComparisonTarget(cst.Equal(), cst.Integer("0"))]):
            names = list(identifiers(left))
            if any(map(MAIN_PROCESS.fits, names)):  # `is_main_process() == 0` holds on the others
                return False
            return any(is_rank_name(each) or RANK_FIELD.fits(each) or MAY_ASK_FOR_RANK.fits(each) for each in names)
        case cst.Call(func=func):
            return MAIN_PROCESS.fits(last_name(func))
    return MAIN_PROCESS.fits(last_name(test))
