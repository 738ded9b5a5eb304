"""Generator functions that draw their own order: with the same seed on all ranks they yield the same.

For example:

    def batches(data, seed):
        for index in numpy.random.RandomState(seed).permutation(len(data)):
            yield collate(data[index])                        the same on all ranks
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.syntax import last_name, names_in, of_class, used_names
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.ranks import State
from trl_lint.domain.values import Value
from trl_lint.knowledge.heuristics import MAY_ASK_FOR_RANK, RANK_FIELD, RANK_NUMBER
from trl_lint.knowledge.random_draws import SEEDED_GENERATORS

# What a seed common to all ranks consists of: names, numbers, and arithmetic on them. No call, such as `time()`.
_PLAIN = (cst.Name, cst.Attribute, cst.Integer, cst.BinaryOperation)


def as_drawn(frame: Frame, function: cst.CSTNode, yielded: Value) -> Value:
    """The value that a generator function yields; the same on all ranks if it is unknown and its draws are seeded."""
    if yielded.rank.state is not State.UNKNOWN or not _draws_same(frame, function):
        return yielded
    return yielded.replace(rank=ranks.SAME)


def _draws_same(frame: Frame, function: cst.CSTNode) -> bool:
    """Whether a function draws only from generators that it creates, with seeds that are not rank-local.

    A function that refers to the rank anywhere may select the rows by it, or change the seed.
    """
    makers = [call for call in of_class(function, cst.Call) if last_name(call.func) in SEEDED_GENERATORS]
    if not makers or not all(_is_seeded(frame, call) for call in makers):
        return False
    guesses = (MAY_ASK_FOR_RANK, RANK_FIELD, RANK_NUMBER)
    return not any(guess.fits(name) for name in names_in(function) for guess in guesses)


def _is_seeded(frame: Frame, maker: cst.Call) -> bool:
    """Whether a generator has a seed that is not known to differ between ranks."""
    seeds = [arg.value for arg in maker.args]
    if len(seeds) != 1 or not isinstance(seeds[0], _PLAIN) or of_class(seeds[0], cst.Call):
        return False
    known = (frame.memory.names.get(name) for name in used_names(seeds[0]))
    return "None" not in used_names(seeds[0]) and not any(value is not None and value.rank.differs for value in known)
