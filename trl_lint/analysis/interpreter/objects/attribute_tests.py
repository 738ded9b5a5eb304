"""Tests for an attribute, `hasattr(x, name)`: of a wrapped model, for one that DDP has not; of a library's object.

class Net(nn.Module): def prune(self): …
model = DistributedDataParallel(Net())
if hasattr(model, "prune"): model.prune()      AttributeAsked: under DDP it never runs
if hasattr(model, "freeze"): model.freeze()    none: `Net` has no such attribute either
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.events import AttributeAsked
from trl_lint.analysis.interpreter.objects import options, own_wrappers
from trl_lint.analysis.program.definitions import call_order, wrapper_attributes
from trl_lint.analysis.program.definitions.changed_state import has_heirs, is_set_outside_any_class
from trl_lint.analysis.program.definitions.objects import ProjectInstance, class_of
from trl_lint.analysis.program.idioms import bare_by_setting
from trl_lint.analysis.program.idioms.result_uses import only_guards_uses
from trl_lint.analysis.program.project.import_lines import is_defined_in_reach
from trl_lint.analysis.program.syntax import has_text, names_in, of_class
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.constants import CREATED, MISSING, WORLD_FALSE, WORLD_TRUE
from trl_lint.domain.kinds import LibraryInstance, flag
from trl_lint.domain.model_roles import is_replicated, may_be_data_parallel
from trl_lint.domain.provenance import steps
from trl_lint.domain.values import Value
from trl_lint.knowledge import library, models


def note(frame: Frame, model: Value, name: str, node: cst.CSTNode) -> None:
    """`if hasattr(model, name): …` of a wrapped model: under DDP the body never runs, and no `else` does the work."""
    if name in library.WRAPPER_ATTRIBUTES or not is_replicated(model) or frame.memory.control.engine:
        return
    if own_wrappers.has(frame, model, name) or _never_has(frame, model, name):
        return
    if not isinstance(node, cst.Call) or not _is_plain(node) or not only_guards_uses(frame.root, node, name):
        return
    # Boilerplate tests for attributes that no model here has. The code that passes the model on knows its class.
    project = frame.engine.project
    paths = (frame.module.path, *(step.module.path for step in steps(model.provenance)))
    packages = filter(None, map(project.package_of, paths[1:]))  # a file is never imported without its package
    is_of_models = name in models.ONLY_MODELS_HAVE or is_defined_in_reach(project, (*paths, *packages), name)
    if is_of_models and not is_wrapped_later(frame, model) and not is_set_on_wrapper(frame, model, name, node):
        frame.emit(AttributeAsked, node, model=model, attribute=name)


def wrappers_have(frame: Frame, model: Value, name: str) -> bool:
    """Whether all wrappers have the attribute that a model may be in, or the function asks for it by its name."""
    if name not in library.NOT_OF_DATA_PARALLEL or not may_be_data_parallel(model):
        return name in library.WRAPPER_ATTRIBUTES
    return has_text(frame.root, name)


def _never_has(frame: Frame, model: Value, name: str) -> bool:
    """Whether the model's class is known, and its objects have no such attribute: without DDP it never runs either."""
    cls = class_of(model)
    return cls is not None and options.lacks(frame, cls, name)


def fails_bare(frame: Frame, model: Value, name: str) -> bool:
    """Whether reading an attribute fails on one process as well: nothing in the project gives it to the model's class.

    def evaluate(args, model): args.limit
    evaluate(model, args)                          the arguments are swapped: no network has a `limit`
    """
    cls = class_of(model)
    if cls is None or name in models.AS_SEQUENCE or not options.lacks(frame, cls, name):
        return False  # `models[0]` may be meant for a list of them
    project, lineage = frame.engine.project, cls.project_lineage()
    targets = (each.target for one in lineage for each in of_class(one.node, cst.AssignTarget))
    if any(name in names_in(each) for each in targets):  # `names, config = (), {}`
        return False
    modules = [frame.module, *(each.module for each in steps(model.provenance)), *(each.module for each in lineage)]
    return not (
        is_set_outside_any_class(project, name)
        or has_heirs(project, cls.name)
        or any(each.mentions(_SETS_ANY) for each in modules)
    )


# `setattr(model, key, value)` of a name that is not written out.
_SETS_ANY = rb"\bsetattr\(\s*(?!self\s*,)[\w.]+\s*,\s*(?![\"'])"


def _is_plain(node: cst.Call) -> bool:
    """Whether it is written as `hasattr(model, "x")`, and not called through `functools.partial`."""
    return isinstance(node.func, cst.Name) and len(node.args) > 1 and not any(each.star for each in node.args)


def is_wrapped_later(frame: Frame, model: Value) -> bool:
    """Whether the class calls this method before the code that wraps the model."""
    method, cls = frame.function, frame.cls
    if method is None:
        return False
    return any(
        call_order.is_done_before(method, step.node)
        or (cls is not None and call_order.calls_come_before(cls, method, step.node))
        or (cls is not None and call_order.comes_after_construction(cls, method, step.node))
        for step in steps(model.provenance)
    )


def may_be_left_bare(frame: Frame, model: Value, node: cst.CSTNode) -> bool:
    """Whether the settings under which this runs may be those under which the code that wraps the model has not."""
    if frame.cls is None or frame.function is None or not isinstance(node, cst.Attribute):
        return False
    places = [each.node for each in steps(model.provenance)]
    return bare_by_setting.may_be_bare_at(frame.engine.project, frame.cls, frame.function, node, places)


def is_set_on_wrapper(frame: Frame, model: Value, name: str, node: cst.CSTNode) -> bool:
    """Whether the code that wraps the model, or passes it on, sets this attribute on the wrapper, to be read here."""
    project = frame.engine.project
    if frame.function is not None and wrapper_attributes.is_set_by_caller(project, frame.function, name):
        return True
    return any(
        wrapper_attributes.is_set_on_wrapper(project, each, name, frame.root, node) for each in steps(model.provenance)
    )


def of_prepared(name: str) -> Value:
    """Whether what `prepare` returned has an attribute: with several ranks, the wrapper of its kind of object decides.

    It is a model if it is asked for what only wrappers of models have.
    """
    if name in models.ONLY_WRAPPERS_HAVE:
        return flag(WORLD_TRUE)
    has_attribute = name in library.WRAPPER_ATTRIBUTES or name in library.OPTIMIZER_LOADER_ATTRIBUTES
    return flag(MISSING if has_attribute else WORLD_FALSE)


def has_member(frame: Frame, receiver: Value, name: str) -> bool:
    """Whether the class of a library that a value is an object of has that, or one that its own class inherits from."""
    engine = frame.engine
    if isinstance(receiver, ProjectInstance):
        return any(engine.library_attribute(base, name) for base in receiver.cls.library_bases())
    if not isinstance(receiver, LibraryInstance) or receiver.const is not CREATED:
        return False
    return bool(engine.library_method(receiver.name, name) or engine.library_attribute(receiver.name, name))
