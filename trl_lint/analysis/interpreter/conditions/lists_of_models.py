"""Lists of models that `prepare` returns on one branch only, and loops over several lists at once.

For example:

    if len(encoders) == 1:
        encoder, loader = accelerator.prepare(encoder, loader)      `encoders` still holds the unwrapped model
    else:
        one, two, loader = accelerator.prepare(*encoders, loader)
        encoders = [one, two]
    for tokenizer, encoder in zip(tokenizers, encoders):            run once per item, to keep the models apart
        encoder.get_input_embeddings()                              MAYBE: an error if there are two
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.interpreter.conditions import wrapping_tests
from trl_lint.analysis.state import containers
from trl_lint.analysis.transfer.models import wrapped_models
from trl_lint.domain.heap import Cell
from trl_lint.domain.kinds import PreparedObject, TupleValue
from trl_lint.domain.ranks import SAME
from trl_lint.domain.small_tuples import is_small
from trl_lint.domain.values import UNKNOWN, Value, Wrapping

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame
    from trl_lint.domain.heap import Memory


def divided(
    frame: Frame, test: cst.BaseExpression, if_true: Memory, if_false: Memory, names: Iterable[str]
) -> dict[str, Value]:
    """The names that are bound to lists of prepared objects on one branch and to unknown values on the other."""
    found: dict[str, Value] = {}
    for memory, other in ((if_true, if_false), (if_false, if_true)):
        for name in names:
            value, other_value = memory.names[name], other.names[name]
            if not other_value.is_unknown:
                continue
            items = _prepared_items(memory, value)
            if items:
                models = [_wrapped_on_one_branch(frame, test, item, memory is if_true) for item in items]
                found[name] = frame.allocate((test, name), Cell("list", dict(enumerate(models))))
    return found


def _prepared_items(memory: Memory, value: Value) -> Sequence[Value]:
    """The items of a list if all are known and are results of `prepare`; else none."""
    cells = memory.cells(value)
    if len(cells) != 1 or cells[0].shape != "list" or cells[0].rest is not None:
        return ()
    items = tuple(cells[0].entries.values())
    return items if all(isinstance(item, PreparedObject) for item in items) else ()


def _wrapped_on_one_branch(frame: Frame, test: cst.BaseExpression, item: Value, is_if_true: bool) -> Value:
    model = wrapped_models.narrowed_to_model(item)
    either = wrapping_tests.either_model(frame, test, *((model, UNKNOWN) if is_if_true else (UNKNOWN, model)))
    return item if either is None else item.replace(wrapping=Wrapping.MAYBE, provenance=either.provenance)


def zipped(frame: Frame, values: Sequence[Value]) -> Value | None:
    """The rows of `zip(…)` one by one, if one of the lists holds models, or None beside others, or one item alone.

    The other iterables count as equally long.
    """
    known = [containers.positions_of_any(frame, value) for value in values]
    lengths = {len(items) for items in known if items is not None}
    if len(lengths) != 1 or not any(items is not None and _are_kept_apart(items) for items in known):
        return None
    (length,) = lengths
    columns = [
        [containers.iterate(frame, value)[0]] * length if items is None else items
        for value, items in zip(values, known, strict=True)
    ]
    rows = [TupleValue(SAME, row) for row in zip(*columns, strict=True)]
    return TupleValue(SAME, rows) if is_small(rows) else None


def _are_kept_apart(items: Sequence[Value]) -> bool:
    return len(items) == 1 or any(map(containers.has_model, items)) or containers.lacks_some(items)
