"""The configuration of a tracker's run, read as a whole by the ranks that have given it their settings.

For example:

    if rank == 0:
        wandb.init(config=vars(args))
        args = wandb.config                the fields of `args`, as the other ranks have them
    if rank == 0:
        wandb.init()
        args = wandb.config                only the first rank has these, whatever they are
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.syntax import last_name, of_class, precedes
from trl_lint.domain.kinds import class_name_of, library_name_of
from trl_lint.domain.values import Kind, Value
from trl_lint.knowledge.effects import CONFIG_GIVEN, CONFIG_OF_RUN, RUNS, STARTS_RUN

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame


def given_to_run(frame: Frame, node: cst.BaseExpression, value: Value) -> cst.BaseExpression | None:
    """The settings that a run has been given before, if this is its configuration; None if they are not known."""
    if not _is_of_run(frame, node, value):
        return None
    given = (found for call in of_class(frame.root, cst.Call) for found in _given_in(frame, call, node))
    return next((each for each in given if precedes(frame.root, each, node) and _are_fields(frame, each)), None)


def _is_of_run(frame: Frame, node: cst.BaseExpression, value: Value) -> bool:
    match node:
        case cst.Attribute(run, cst.Name(name)) if CONFIG_OF_RUN.endswith(f".{name}"):
            return library_name_of(value) == CONFIG_OF_RUN or class_name_of(frame.value_of(run)) in RUNS
    return False


def _given_in(frame: Frame, call: cst.Call, config: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What a call gives to the run with this configuration: `wandb.config.update(args)`, `wandb.init(config=args)`."""
    match call:
        case cst.Call(cst.Attribute(owner, cst.Name("update")), [cst.Arg(given), *_]) if owner.deep_equals(config):
            yield _holder(given)
        case cst.Call(func=func) if last_name(func) == STARTS_RUN.rpartition(".")[2]:
            named = [arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == CONFIG_GIVEN]
            if named and library_name_of(frame.engine.evaluate(frame, func)) == STARTS_RUN:
                yield _holder(named[0])


def _holder(settings: cst.BaseExpression) -> cst.BaseExpression:
    """The object whose fields are passed: `vars(args)`, `args.__dict__`."""
    match settings:
        case cst.Call(cst.Name("vars"), [cst.Arg(holder)]) | cst.Attribute(holder, cst.Name("__dict__")):
            return holder
    return settings


def _are_fields(frame: Frame, settings: cst.BaseExpression) -> bool:
    """Whether settings are kept in an object with a name, of which a run has the same fields."""
    known = frame.known_value(settings) if isinstance(settings, (cst.Attribute, cst.Name)) else None
    return known is not None and known.kind is not Kind.CONTAINER
