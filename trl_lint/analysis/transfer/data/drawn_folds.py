"""What scikit-learn's classes for cross-validation divide at random, if they are given no seed.

folds = KFold(5, shuffle=True)
for train, test in folds.split(rows): ...          both: DRAWN, each rank has folds of its own
KFold(5)                                           in the order of the rows, the same on all ranks
KFold(5, shuffle=True, random_state=0)             the same on all ranks
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import callee_of, is_literal_none, last_name, of_class, resolved
from trl_lint.analysis.transfer.data.draws import Draw, is_drawn
from trl_lint.domain import ranks
from trl_lint.domain.kinds import IterableValue, TupleValue, library_name_of
from trl_lint.domain.values import Value
from trl_lint.knowledge.random_draws import FOLDS, FOLDS_DRAW, MAKES_FOLDS, SEEDS_FOLDS, SHUFFLES_FOLDS

if TYPE_CHECKING:
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame

_NAMES = frozenset(name.rpartition(".")[2] for name in FOLDS)


def of_folds(frame: Frame, name: str, args: Arguments, node: cst.CSTNode, value: Value) -> Value:
    """What a method gives: the places of pairs of parts that a rank has drawn, or what it gives anyway."""
    made = _maker(frame, node) if name == MAKES_FOLDS else None
    if made is None or not is_drawn(frame, FOLDS_DRAW, args):
        return value
    draw = Draw(frame, made, library_name_of(frame.engine.evaluate(frame, made.func)), FOLDS_DRAW, args)
    part = Value(ranks.DRAWN, provenance=draw)
    return IterableValue(ranks.SAME, TupleValue(ranks.SAME, (part, part)), ranks.SAME)


def _maker(frame: Frame, node: cst.CSTNode) -> cst.Call | None:
    """The call, in this function, that has made what a method is called on, if that shuffles without a seed."""
    target = callee_of(node)
    made = resolved(frame.root, target.value) if isinstance(target, cst.Attribute) else None
    if not isinstance(made, cst.Call) or any(each.star for each in made.args):
        return None
    if last_name(made.func) not in _NAMES or of_class(made.func, cst.Call):
        return None  # what else is called is not looked at: `x = torch.cat(x.split(2)).float()` calls itself here
    shuffles = FOLDS.get(library_name_of(frame.engine.evaluate(frame, made.func)))
    if shuffles is None:
        return None
    given = {each.keyword.value: each.value for each in made.args if each.keyword is not None}
    if not shuffles:
        asked = given.get(SHUFFLES_FOLDS)
        shuffles = isinstance(asked, cst.Name) and asked.value == "True"
    seed = given.get(SEEDS_FOLDS)
    return made if shuffles and (seed is None or is_literal_none(seed)) else None
