"""Builtin functions that read or assign an attribute by its name: `getattr`, `setattr`, `vars`."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.interpreter.objects import attributes, chosen_names, given_fields, own_wrappers, settings_objects
from trl_lint.analysis.interpreter.operations import dict_constructors
from trl_lint.analysis.program.definitions.objects import ProjectInstance, ProjectModel
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models import wrapped_models
from trl_lint.analysis.transfer.processes import job_flags
from trl_lint.domain.choices import MAX_OPTIONS
from trl_lint.domain.constants import MISSING
from trl_lint.domain.heap import WILDCARD, names_like
from trl_lint.domain.joins import join, join_all
from trl_lint.domain.kinds import NONE, BasePrefix, BoundMethod
from trl_lint.domain.ranks import State
from trl_lint.domain.values import SAME, UNKNOWN, Kind, Value, Wrapping
from trl_lint.knowledge import library, models


def read(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`getattr(thing, name)`"""
    receiver = args.positional[0]
    name = args.positional[1].const if len(args.positional) > 1 else None
    default = args.positional[2] if len(args.positional) > 2 else None
    if receiver.kind is Kind.MODEL and len(args.positional) > 1 and _names_a_part(args.positional[1], default):
        # Under an engine that forwards attributes, it is the submodule even of a wrapped model.
        model = wrapped_models.inside(frame, receiver, node) if receiver.wrapping is Wrapping.WRAPPED else receiver
        return wrapped_models.part(model)
    if not isinstance(name, str) or WILDCARD in name:
        chosen = chosen_names.member(receiver, args.positional[1]) if len(args.positional) > 1 else None
        chosen = _methods_named(receiver, args) if chosen is None else chosen
        if chosen is not None:
            return chosen
        is_same = receiver.kind is Kind.INSTANCE and receiver.rank.state is State.SAME
        return SAME if is_same and default is None else UNKNOWN
    if receiver.kind is Kind.MODEL and own_wrappers.has(frame, receiver, name):
        return UNKNOWN
    if receiver.kind is Kind.MODEL and default is not None and not (receiver.wrapping and receiver.wrapping.is_bare):
        if receiver.wrapping is Wrapping.WRAPPED and name not in library.WRAPPER_ATTRIBUTES:
            return default
        if name == models.INNER_MODEL:
            return attributes.of_model(frame, receiver, name, node)
    if default is not None and name == models.INNER_MODEL and is_without_wrapper(frame, receiver):
        return default
    if default is not None:
        frame.attribute_error_depth += 1
    value = attributes.read(frame, receiver, name, node)
    if default is not None:
        frame.attribute_error_depth -= 1
        if isinstance(value, BasePrefix):
            return value
        if value.rank.state is State.SAME and value.kind is Kind.UNKNOWN and value.const is MISSING:
            value = join(value, default)
    asked = job_flags.flag_of(node) if isinstance(node, cst.Call) else None
    return job_flags.with_job_flags(frame, asked, value) if isinstance(asked, cst.Attribute) else value


def _methods_named(receiver: Value, args: Arguments) -> Value | None:
    """The methods of an object of which a part of the name is known: `getattr(self, f"run_{args.mode}")`."""
    name = args.positional[1] if len(args.positional) > 1 else UNKNOWN
    pattern = name.const if isinstance(name.const, str) and not name.rank.differs else ""
    if not isinstance(receiver, ProjectInstance) or not pattern.strip(WILDCARD):
        return None
    wanted = names_like(pattern)
    found = {each.name: each for each in receiver.cls.project_methods() if wanted.fullmatch(each.name)}
    if not 0 < len(found) <= MAX_OPTIONS or any(each.is_property for each in found.values()):
        return None
    return join_all([BoundMethod(receiver, each) for each in sorted(found)])


def is_without_wrapper(frame: Frame, model: Value) -> bool:
    """Whether a value is a model that was taken out of its wrapper, and has no `module` of its own."""
    if model.kind is not Kind.MODEL or model.wrapping is not Wrapping.UNWRAPPED:
        return False
    return not isinstance(model, ProjectModel) or frame.read_attribute(model.cls, models.INNER_MODEL) is None


def _names_a_part(name: Value, default: Value | None) -> bool:
    """Whether `getattr(model, name, default)` reads the submodule without the head."""
    if isinstance(name, BasePrefix):
        return True
    return not isinstance(name.const, str) and default is not None and default.kind is Kind.MODEL


def assign(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`setattr(self, "name", value)` with a constant name is an assignment."""
    receiver, name, value = [*args.positional, UNKNOWN, UNKNOWN, UNKNOWN][:3]
    if isinstance(receiver, ProjectInstance) and isinstance(name.const, str):
        if WILDCARD not in name.const:
            frame.write_attribute(receiver.cls, name.const, value)
    elif isinstance(name.const, str) and WILDCARD not in name.const and given_fields.may_be_set(frame, receiver):
        given_fields.assign_by_name(frame, node, name.const, value)
    elif isinstance(receiver, ProjectInstance):
        settings_objects.keep_by_any_name(frame, receiver.cls, value)
    return NONE


def names_of(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`vars(thing)`: the names of a module, or the fields of a record."""
    names = chosen_names.names_of(args.positional[0]) if args.positional else None
    return dict_constructors.of_record(frame, args, node) if names is None else names
