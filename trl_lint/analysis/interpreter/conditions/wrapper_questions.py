"""Tests that ask whether a model has a wrapper.

For example:

    isinstance(model, DDP)                                        `model`, true if it is wrapped
    hasattr(model, "module"), type(model) is DDP                  the same
    hasattr(model, "generate")                                    the opposite: no wrapper has it
    getattr(model, "module", None) is None                        the opposite
    inner = getattr(model, "module", None); if inner: ...         true if it is wrapped, until `model` is bound anew
    type(model).__name__ == "Net", "Net" in type(model).__name__  false if it is wrapped
    type(models) is list, type(models) in (list, tuple)           false of every model, as isinstance(models, list) is

Which of torch's two wrappers a model has is known where the code itself wraps it: of one in DDP,
`isinstance(model, DataParallel)` is false, and says nothing of whether the model is wrapped. Neither does a class of
another framework, `isinstance(model, mxnet.gluon.Block)`.

No wrapper of torch is an object of a class that the project defines, unless that is a wrapper itself: of a model that
is known to be wrapped, `isinstance(model, Net)` is false. Where it is false, the model need not be wrapped.
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.definitions.objects import ClassValue, class_names
from trl_lint.analysis.program.definitions.set_by_name import object_of_class
from trl_lint.analysis.program.idioms.path_conditions import is_none_test, none_test_operand
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.syntax import (
    ancestors,
    assigned_once,
    below,
    is_literal_none,
    last_name,
    precedes,
)
from trl_lint.analysis.state.frame import Frame
from trl_lint.analysis.transfer.models.wrapped_models import may_be_wrapped, narrowed_to_model
from trl_lint.domain.constants import WORLD_FALSE, WORLD_TRUE
from trl_lint.domain.kinds import PreparedObject, flag, library_name_of
from trl_lint.domain.model_roles import is_data_parallel, is_replicated, wrapping_of
from trl_lint.domain.provenance import WrappedByProjectClass, WrappedWhere, steps
from trl_lint.domain.small_tuples import items_or_itself
from trl_lint.domain.values import Value, Wrapping
from trl_lint.knowledge import library, models
from trl_lint.knowledge.torch_distributed import DATA_PARALLEL, DDP

# The model whose wrapper a test asks for, and whether the answer "true" means that it is wrapped.
Question = tuple[cst.BaseExpression, bool]


def wrapper_test(frame: Frame, test: cst.CSTNode) -> Question | None:
    """What a test asks about the wrapper of which model."""
    taken_off = _of_inner(frame, test)
    if taken_off is not None:
        return taken_off
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        return _of_class(frame, test.left, test.comparisons[0])
    if not (isinstance(test, cst.Call) and isinstance(test.func, cst.Name) and len(test.args) == 2):
        return None
    subject, second = test.args[0].value, frame.known_value(test.args[1].value)
    if test.func.value == "isinstance":
        return _of_one(subject, class_names(second), True)
    if test.func.value == "hasattr" and second is not None and isinstance(second.const, str):
        if second.const in models.ONLY_WRAPPERS_HAVE:
            return subject, True
        return None if second.const in library.WRAPPER_ATTRIBUTES else (subject, False)
    return None


def _of_inner(frame: Frame, test: cst.CSTNode) -> Question | None:
    """A test for what `getattr(model, "module", None)` returned: whether it is None, or is true."""
    if not isinstance(test, cst.BaseExpression):
        return None
    asked = none_test_operand(test)
    inner = test if asked is None else asked
    if isinstance(inner, cst.NamedExpr):
        subject = _with_inner(inner.value)
    elif isinstance(inner, cst.Name):
        subject = _bound_inner(frame, inner)
    else:
        subject = _with_inner(inner)
    return None if subject is None else (subject, asked is None or not is_none_test(test))


def _with_inner(node: cst.CSTNode | None) -> cst.BaseExpression | None:
    """The `model` of `getattr(model, "module", None)`."""
    match node:
        case cst.Call(
            func=cst.Name("getattr"),
            args=[cst.Arg(value=subject), cst.Arg(value=cst.SimpleString() as name), cst.Arg(value=default)],
        ) if name.evaluated_value == models.INNER_MODEL and is_literal_none(default):
            return subject
    return None


def _bound_inner(frame: Frame, name: cst.Name) -> cst.BaseExpression | None:
    """The model whose module a name is bound to, if that is still the one of this name where it is tested."""
    bound = assigned_once(frame.root, name.value)
    subject = _with_inner(bound)
    if bound is None or not isinstance(subject, cst.Name):
        return None
    targets = (each.target for each in below(frame.root) if isinstance(each, cst.AssignTarget))
    anew = (each for each in targets if isinstance(each, cst.Name) and each.value == subject.value)
    between = (each for each in anew if precedes(frame.root, bound, each) and precedes(frame.root, each, name))
    return subject if ancestors(frame.root, name) and not any(between) else None


_HOLDS_FOR = frozenset({cst.Equal, cst.Is, cst.In})
_NEGATES = frozenset({cst.NotEqual, cst.IsNot, cst.NotIn})


# `type(model)` and `model.__class__`.
_READS_CLASS = frozenset({cst.Call, cst.Attribute})


def _of_class(frame: Frame, left: cst.BaseExpression, target: cst.ComparisonTarget) -> Question | None:
    """`type(model) == DDP`, `type(model) in (DDP, DP)`, `model.__class__ is DDP`."""
    holds = type(target.operator) in _HOLDS_FOR
    if type(left) not in _READS_CLASS or not (holds or type(target.operator) in _NEGATES):
        return None
    subject = object_of_class(left)
    if subject is None:
        return None
    names = class_names(frame.engine.evaluate(frame, target.comparator))
    return _of_one(subject, names, holds)


def _of_no_model(frame: Frame, node: cst.Comparison) -> Value | None:
    """The value of `type(models) is list` for what may be a wrapped model, and so is none; None for all others."""
    operator = node.comparisons[0].operator
    subject = object_of_class(node.left)
    holds = type(operator) in _HOLDS_FOR
    if subject is None or len(node.comparisons) != 1 or not (holds or type(operator) in _NEGATES):
        return None
    if not may_be_wrapped(frame.engine.evaluate(frame, subject)):
        return None
    names = class_names(frame.engine.evaluate(frame, node.comparisons[0].comparator))
    return flag(not holds) if names and models.NO_MODELS.issuperset(names) else None


def _of_one(subject: cst.BaseExpression, names: list[str], holds: bool) -> Question | None:
    if not models.WRAPPER_CLASSES.isdisjoint(names):
        return subject, holds
    return (subject, not holds) if library.are_plain_models(names) else None


def decided(frame: Frame, node: cst.Comparison) -> Value | None:
    """The value of `type(model) == DDP` or `== list` for a model that is wrapped; None for all other comparisons."""
    by_name = _of_class_name(frame, node)
    tested = by_name or wrapper_test(frame, node)
    if tested is None:
        return _of_no_model(frame, node)
    model = frame.engine.evaluate(frame, tested[0])
    if isinstance(model, PreparedObject):
        model = narrowed_to_model(model)  # only models are tested like this
    if wrapping_of(model) is not Wrapping.WRAPPED or (by_name is not None and _is_wrapped_by_project(model)):
        return None
    return flag(WORLD_TRUE if tested[1] else WORLD_FALSE)


def _of_class_name(frame: Frame, node: cst.Comparison) -> Question | None:
    """`type(model).__name__ == "Net"`, `model.__class__.__name__ not in ("Net", "Other")`, `"Net" in …`."""
    if len(node.comparisons) != 1:
        return None
    operator, right = node.comparisons[0].operator, node.comparisons[0].comparator
    holds = type(operator) in _HOLDS_FOR
    if not (holds or type(operator) in _NEGATES):
        return None
    subject, is_part = _named_by_class(node.left), False
    if subject is None and isinstance(operator, (cst.In, cst.NotIn)):
        subject, is_part, right = _named_by_class(right), True, node.left
    if subject is None:
        return None
    texts = [each.const for each in items_or_itself(frame.engine.evaluate(frame, right))]
    if not texts or not all(isinstance(each, str) for each in texts):
        return None
    among = {name for name in models.WRAPPER_NAMES for each in texts if each == name or (is_part and each in name)}
    if among.isdisjoint(models.WRAPPER_CLASSES):
        return None if among else (subject, not holds)
    return subject, holds


def _named_by_class(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The `model` of `type(model).__name__` and `model.__class__.__name__`."""
    match node:
        case cst.Attribute(value=cls, attr=cst.Name("__name__")):
            return object_of_class(cls)
    return None


def is_module(model: Value) -> bool:
    """Whether a value is a model that had a wrapper or has one of a library's, and so is an `nn.Module` either way."""
    has_one = may_be_wrapped(model) and not isinstance(model, PreparedObject) and not _is_wrapped_by_project(model)
    return has_one or wrapping_of(model) is Wrapping.UNWRAPPED


def asks_for_model(frame: Frame, model: Value, classes: Value) -> bool:
    """Whether `isinstance(model, classes)` is false of a model that is known to be wrapped."""
    names = class_names(classes)
    if not names or library.are_plain_models(names):
        return bool(names)
    if _is_wrapped_by_project(model):
        return False
    options = map(frame.engine.settle, items_or_itself(classes))
    return all(
        _is_plain(each.cls) if isinstance(each, ClassValue) else library.are_plain_models(class_names(each))
        for each in options
    )


def asks_for_nothing(model: Value, classes: Value) -> bool:
    """Whether `isinstance(model, classes)` is false of a model on any number of processes."""
    names = class_names(classes)
    asks_for_others = may_be_wrapped(model) and bool(names) and models.NO_MODELS.issuperset(names)
    return asks_for_others or _asks_for_other_framework(model, classes) or asks_for_other_wrapper(model, classes)


def _asks_for_other_framework(model: Value, classes: Value) -> bool:
    """Whether a model that may be wrapped is asked for a class of another framework, such as `mxnet.gluon.Block`."""
    packages = [library_name_of(each).partition(".")[0] for each in items_or_itself(classes)]
    return may_be_wrapped(model) and bool(packages) and models.OTHER_FRAMEWORKS.issuperset(packages)


def is_of_other_wrapper(frame: Frame, test: cst.BaseExpression) -> bool:
    """Whether a test is `isinstance(model, classes)`, and false as it asks for the other one of torch's wrappers."""
    match test:
        case cst.Call(func=cst.Name("isinstance"), args=[cst.Arg(value=subject), cst.Arg(value=classes)]):
            model, asked = frame.known_value(subject), frame.known_value(classes)
            return model is not None and asked is not None and asks_for_other_wrapper(model, asked)
    return False


def asks_for_other_wrapper(model: Value, classes: Value) -> bool:
    """Whether only the one of torch's wrappers is asked for that the code, as it wraps a model, does not use for it.

    It is DDP or none, or DataParallel or none, if the model is wrapped on one branch only, and bare on the other.
    """
    wrapping = wrapping_of(model)
    if not (wrapping is Wrapping.WRAPPED or (wrapping is Wrapping.MAYBE and _is_bare_otherwise(model))):
        return False
    if _is_wrapped_by_project(model):
        return False
    other = DATA_PARALLEL if is_replicated(model) else DDP if is_data_parallel(model) else ""
    asked = {library.canonical(library_name_of(each)) for each in items_or_itself(classes)}
    return asked == {other}


def _is_bare_otherwise(model: Value) -> bool:
    """Whether a model that is wrapped under a condition has no other wrapper without it, such as DataParallel."""
    where = next((each for each in steps(model.provenance) if isinstance(each, WrappedWhere)), None)
    return where is not None and bool(where.outcomes)


def _is_wrapped_by_project(model: Value) -> bool:
    return any(isinstance(each, WrappedByProjectClass) for each in steps(model.provenance))


def _is_plain(cls: ClassInfo) -> bool:
    """Whether no wrapper of torch is an object of a class of the project, by inheritance or by what it has."""
    keywords = (last_name(each.value) for base in cls.project_lineage() for each in base.node.keywords)
    names = {each.rpartition(".")[2] for each in cls.library_bases()}
    return names.isdisjoint({*models.WRAPPER_CLASSES, "Protocol"}) and all(each == "ABCMeta" for each in keywords)
