"""The fix for an attribute read from a wrapped model: cache it in `__init__`, or read it from the bare model."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from trl_lint.analysis.events import AttributeRead
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.syntax import ancestors, last_name, used_names
from trl_lint.domain.model_roles import is_trained
from trl_lint.findings import Applicability
from trl_lint.fixes.base import RuleFix
from trl_lint.fixes.support.bare_model import (
    NO_ACCELERATOR,
    TOO_EARLY,
    accelerator_of,
    is_too_early,
    read_from_bare,
    receiver,
)
from trl_lint.fixes.support.caching import Cached, cached, is_trainer
from trl_lint.fixes.support.edits import Edit, FixPlan, Insert, NoFix, Replace
from trl_lint.fixes.support.node_types import Path
from trl_lint.fixes.support.scope import (
    always_reached,
    bound_names,
    bound_targets,
    declared_names,
    dotted,
    is_nested,
    root_name,
    scope_of,
)
from trl_lint.fixes.support.tree import has_comment, in_parentheses_of
from trl_lint.knowledge import models

# The hooks that every run of a trainer calls: what they always read can be read earlier.
_EVERY_RUN = frozenset({"compute_loss", "training_step"})
_WRITES = frozenset({"setattr", "delattr", "update"})

_UNKNOWN_READ = "it is not known how it is read"
_CALLED = "it is called: on the bare model a forward would not synchronise the gradients"
_MODULE = "it is a module: a forward through it would not synchronise the gradients"
_PARAMETER = "it is a parameter: an engine may have sharded it"
_CUSTOM = "it is not known whether it is a module, a parameter or a property"
_WRITTEN = "it is also written"
_WRITTEN_NEAR = "the same function writes it through the wrapper, and reads and writes must use the same object"


@dataclass(frozen=True, slots=True)
class _Read:
    """A read and its surroundings.

    Attributes:
        node: `model.x` or `getattr(model, "x")`.
        model: The expression of the wrapped model.
        whole: What a fix replaces: the read with the next attribute of its chain (`model.config.vocab_size`).
        further: That next attribute, "" if there is none.
        path: The nodes around `whole`, from the function (or module) inwards.
        accelerator: The expression for the Accelerator.
    """

    event: AttributeRead
    node: cst.Attribute | cst.Call
    model: cst.BaseExpression
    whole: cst.BaseExpression
    further: str
    path: Path
    accelerator: str

    @property
    def root(self) -> cst.CSTNode:
        """The function or module that contains it."""
        return self.path[0]


class WrappedModelAttributeFix(RuleFix[AttributeRead]):
    is_collective = False
    applicabilities = (Applicability.SAFE, Applicability.DISPLAY)

    def plan(self, event: AttributeRead) -> FixPlan | NoFix:
        """The plan to read the attribute from the bare model, or why that is left to the author."""
        read = _read(event)
        if isinstance(read, NoFix):
            return read
        found = _cached(read)
        if found is not None:
            return _from_cache(read, found)
        if not read.accelerator:
            return NoFix(NO_ACCELERATOR, _advice(read))
        if is_too_early(event, read.accelerator, read.whole):
            return NoFix(TOO_EARLY)
        return _before_loop(read) or _in_place(read)

    def title_for(self, event: AttributeRead) -> str:
        return (
            "Use the bare model"
            if event.attribute in models.AS_SEQUENCE
            else f"Read `.{event.attribute}` from the bare model"
        )


def _read(event: AttributeRead) -> _Read | NoFix:
    """The read in the form that a fix needs, or why there is none."""
    reason = _unsuitable(event)
    if reason:
        return NoFix(reason)
    node = event.node
    path = ancestors(scope_of(event.function, event.module), node) or ancestors(event.module.tree, node)
    model = receiver(node)
    if not path or model is None or not isinstance(node, (cst.Attribute, cst.Call)):
        return NoFix(_UNKNOWN_READ)
    whole: cst.Attribute | cst.Call = node
    further = ""
    if isinstance(path[-1], cst.Attribute) and path[-1].value is node:
        whole, further, path = path[-1], path[-1].attr.value, path[:-1]
    read = _Read(event, node, model, whole, further, path, accelerator_of(event, model))
    if _is_written(read):
        return NoFix(_WRITTEN)
    return NoFix(_WRITTEN_NEAR) if _is_written_near(read) else read


# --- what is never fixed --------------------------------------------------------------------------------


def _unsuitable(event: AttributeRead) -> str:
    """Why the attribute should not be read from the bare model; "" if it may be."""
    name = event.attribute
    if name in models.AS_SEQUENCE:
        return _MODULE
    if event.called:
        return _CALLED
    if name in models.PARAMETERS:
        return _PARAMETER
    if name in models.MODULES:
        return _MODULE
    return "" if name in models.DATA else _CUSTOM


def _is_written(read: _Read) -> bool:
    """Whether the chain that starts with the read ends in an assignment, a deletion or an update."""
    top, path = read.whole, read.path
    while path and isinstance(outer := path[-1], (cst.Attribute, cst.Subscript)) and outer.value is top:
        top, path = outer, path[:-1]
    if any(target is top for target in bound_targets(read.root)):
        return True
    call = path[-1] if path and isinstance(path[-1], cst.Call) else path[-2] if len(path) > 1 else None
    if not isinstance(call, cst.Call) or last_name(call.func) not in _WRITES:
        return False
    return call.func is top or bool(call.args and call.args[0].value is top and isinstance(call.func, cst.Name))


def _is_written_near(read: _Read) -> bool:
    """Whether the function writes what it reads here, by the same expression."""
    chain = dotted(read.whole)
    return bool(chain) and any(dotted(target) == chain for target in bound_targets(read.root))


def _advice(read: _Read) -> str:
    name = read.event.attribute
    return f"read it before the model is wrapped (`{name} = model.{name}`), and use that here"


def _root_name(text: str) -> str:
    """The name that a chain of attributes starts with."""
    return text.partition(".")[0]


# --- cached in `__init__` -------------------------------------------------------------------------------


def _cached(read: _Read) -> Cached | None:
    """The attribute of `self` that can replace a plain `config.<attribute>` of the trained model."""
    event = read.event
    if event.attribute != "config" or not read.further or not isinstance(event.cls, ClassInfo):
        return None
    if event.function is None or event.function.cls is None or has_comment(read.whole):
        return None
    if not _is_plain(read) or not _is_trained(read):
        return None
    found = cached(event.function, event.cls, read.further)
    if found is None or (found.anchor is not None and not _is_always_read(read)):
        return None
    return found


def _is_plain(read: _Read) -> bool:
    """Whether only the value itself is used: no attribute or method of it."""
    outer = read.path[-1] if read.path else None
    if isinstance(outer, cst.Attribute):
        return False
    return not (isinstance(outer, cst.Call) and outer.func is read.whole) and isinstance(read.node, cst.Attribute)


def _is_trained(read: _Read) -> bool:
    """Whether the config is that of the trained model, in all known calls of the method."""
    if not is_trained(read.event.model):
        return False
    owner, cls = read.event.function, read.event.cls
    if owner is None:
        return False
    if isinstance(read.model, cst.Attribute):
        this = owner.parameters[0].name if owner.parameters else ""
        return dotted(read.model) == f"{this}.model_wrapped" and cls is not None and is_trainer(cls)
    name = root_name(read.model)
    if name in bound_names(owner.node.body) or name not in {parameter.name for parameter in owner.parameters}:
        return False
    return all(is_trained(summary.names[name]) for summary in owner.summaries.values() if name in summary.names)


def _is_always_read(read: _Read) -> bool:
    """Whether a config without the attribute would fail anyway, so that `__init__` may read it, too."""
    if read.further in models.EVERY_CONFIG_HAS:
        return True
    owner = read.event.function
    return owner is not None and owner.name in _EVERY_RUN and always_reached(read.path, read.whole)


def _from_cache(read: _Read, found: Cached) -> FixPlan:
    assert read.event.function is not None  # attributes of `self` are read in a method
    this = read.event.function.parameters[0].name
    new = cst.Attribute(cst.Name(this), cst.Name(found.name))
    edits: list[Edit] = [Replace(read.whole, in_parentheses_of(read.whole, new))]
    if found.anchor is not None:
        edits.append(Insert(found.anchor, found.code, behind=True))
    return FixPlan(tuple(edits))


# --- read from the bare model ---------------------------------------------------------------------------


def _in_place(read: _Read) -> FixPlan:
    new = read_from_bare(read.node, read.model, read.accelerator)
    return FixPlan((Replace(read.whole, new if read.whole is read.node else read.whole.with_changes(value=new)),))


def _before_loop(read: _Read) -> FixPlan | None:
    """The plan to bind the attribute once, before the outermost loop in which it stays the same."""
    attribute = read.event.attribute
    if attribute not in models.LASTING or not isinstance(read.node, cst.Attribute):
        return None
    if not isinstance(read.model, cst.Name) or has_comment(read.whole):
        return None
    loop = next((each for index in range(len(read.path)) if (each := _loop_around(read, index)) is not None), None)
    if loop is None:
        return None
    name = _free_name(read, read.model.value)
    kept = cst.Name(name)
    new = cst.Attribute(kept, cst.Name(read.further)) if read.further else kept
    code = f"{name} = {read.accelerator}.unwrap_model({read.model.value}).{attribute}"
    return FixPlan((Replace(read.whole, in_parentheses_of(read.whole, new)), Insert(loop, code)))


def _loop_around(read: _Read, index: int) -> cst.For | cst.While | None:
    """A node of the path, if it is a loop that reads the attribute in every iteration and rebinds no part of it."""
    loop, inside = read.path[index], read.path[index + 1 :]
    if not isinstance(loop, (cst.For, cst.While)) or is_nested(inside):
        return None
    if any(isinstance(each, cst.ClassDef) for each in read.path[1:]):
        return None
    first = (*inside, read.whole)[0]
    if first is not loop.body and not (isinstance(loop, cst.While) and first is loop.test):
        return None
    parts = {root_name(read.model), _root_name(read.accelerator)}
    if parts & (bound_names(loop) | declared_names(read.root)):
        return None
    changed = {last_name(each) for each in bound_targets(loop)}
    if not changed.isdisjoint({read.event.attribute, "accelerator"}):
        return None
    return loop if always_reached(read.path[index:], read.whole, through_loops=True) else None


def _free_name(read: _Read, model: str) -> str:
    """A name for the bare model's attribute that the function (or module) does not use otherwise."""
    attribute = read.event.attribute
    used = used_names(read.root)
    first: tuple[str, ...] = (attribute,) if model == "model" else ()
    numbered = (f"bare_{model}_{attribute}_{number}" for number in range(2, 1000))
    candidates = [*first, f"{model}_{attribute}", f"bare_{model}_{attribute}", *numbered]
    return next(name for name in candidates if name not in used)
