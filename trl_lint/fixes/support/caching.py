"""Attributes that a Trainer's `__init__` takes from the config of the bare model: find one, or add one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.syntax import below, last_name
from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.domain.values import Kind, Value
from trl_lint.fixes.support.scope import binds, bound_names, bound_targets, dotted, leaves
from trl_lint.fixes.support.tree import keyword_of
from trl_lint.knowledge import library, models
from trl_lint.knowledge.heuristics import CONFIG_OBJECT, MODEL_OBJECT
from trl_lint.knowledge.schema import Attribute, Class
from trl_lint.knowledge.transformers import TRAINER_NAMES
from trl_lint.knowledge.trl import CONFIG_NAMES_IN_TRAINERS

TRAINER = "transformers.Trainer"
# Base classes that add nothing to an instance.
_PLAIN_BASES = frozenset({"abc.ABC", "typing.Generic"})
_WITHOUT_SELF = frozenset({"classmethod", "staticmethod"})


@dataclass(frozen=True, slots=True)
class Cached:
    """The attribute of `self` that contains a config's attribute.

    anchor, code: the statement of `__init__` after which the assignment goes, and its text; None and "" if the
    attribute exists already.
    """

    name: str
    anchor: cst.BaseStatement | None = None
    code: str = ""


def cached(owner: FunctionInfo, cls: ClassInfo, attribute: str) -> Cached | None:
    """The attribute by which a method can read `config.<attribute>` of the bare model.

    None if `self.model` is not known to be the bare model, the config may change later, or the class has no `__init__`
    that certainly calls Trainer's.
    """
    home = owner.cls
    if home is None or not owner.parameters or owner.name == "__init__" or owner.decorators & _WITHOUT_SELF:
        return None
    family = _family(home, cls)
    if not all(_has_bare_model(each) for each in family) or _may_change(family, attribute):
        return None
    if not all(_passes_through(each, owner.name) for each in family):
        return None
    for constructor, call in _constructors(home):
        for name, statement in _assigned(constructor, call, attribute):
            early = (_called_early(constructor, statement, each) for each in family)
            if _is_assigned_once(name, family) and not any(owner.name in names for names in early):
                return Cached(name)
    constructor_of_class = home.methods.get("__init__")
    constructor_call_of_class = None if constructor_of_class is None else constructor_call(constructor_of_class)
    if constructor_of_class is None or constructor_call_of_class is None:
        return None
    name = _free_name(attribute, family)
    this = constructor_of_class.parameters[0].name
    if _may_change_config(constructor_of_class, f"{this}.model"):
        return None
    return Cached(name, constructor_call_of_class.statement, f"{this}.{name} = {this}.model.config.{attribute}")


# Functions that do not change a model they are passed.
_READ_ONLY_CALLS = frozenset(
    {"getattr", "hasattr", "id", "isinstance", "is_peft_model", "len", "print", "repr", "type"}
)


def _may_change_config(constructor: FunctionInfo, model: str) -> bool:
    """Whether a constructor passes the model to code that may change its config (`setup_chat_format(self.model)`)."""
    calls = (node for node in below(constructor.node.body) if isinstance(node, cst.Call))
    calls_with_model = (call for call in calls if any(dotted(arg.value) == model for arg in call.args))
    return any(last_name(call.func) not in _READ_ONLY_CALLS for call in calls_with_model)


def _constructors(cls: ClassInfo) -> Iterator[tuple[FunctionInfo, ConstructorCall]]:
    """The `__init__` of a class and of its bases whose source is available, with the call that runs the next one."""
    for each in cls.project_lineage():
        constructor = each.methods.get("__init__")
        if constructor is not None and (call := constructor_call(constructor)) is not None:
            yield constructor, call


def _family(home: ClassInfo, cls: ClassInfo) -> tuple[ClassInfo, ...]:
    """The class that defines a method, the one that it was analysed for, and their subclasses in the same file."""
    heirs = (each for each in home.module.classes if home in each.project_lineage())
    return tuple(dict.fromkeys((home, cls, *heirs)))


def _lineages(family: Iterable[ClassInfo]) -> tuple[ClassInfo, ...]:
    """These classes and their bases, as far as the source is available."""
    return tuple(dict.fromkeys(base for cls in family for base in cls.project_lineage()))


# --- the model ------------------------------------------------------------------------------------------


def _has_bare_model(cls: ClassInfo) -> bool:
    """Whether `self.model` is the bare model, by the available source and in every release that the tables know."""
    if not is_trainer(cls) or not all(_is_known(base) for base in cls.lineage()):
        return False
    value = cls.attribute("model")
    if value is not None:
        return value.kind is Kind.MODEL and _is_bare(value)
    if cls.find("model") is not None:
        return False
    rows = [row for base in cls.library_bases() for row in _model_rows(base)]
    return bool(rows) and all(_is_bare(row.value) for row in rows)


def _is_bare(model: Value) -> bool:
    return model.wrapping is not None and model.wrapping.is_bare


def is_trainer(cls: ClassInfo) -> bool:
    """Whether it is a Trainer by the tables (a base declared in the settings says nothing about the model)."""
    return any(library.is_subclass(base, TRAINER) for base in cls.library_bases())


def _is_known(base: ClassInfo | str | None) -> bool:
    """Whether the source of a base is available, or it is a library class in the tables."""
    if base is None or isinstance(base, ClassInfo):
        return base is not None
    return base in _PLAIN_BASES or any(isinstance(row, Class) for row in library.rows(base))


def _model_rows(base: str) -> list[Attribute]:
    """The rows for `model` on instances of a library class, in all releases."""
    for current in library.mro(base):
        rows = [row for row in library.rows(f"{current}.model") if isinstance(row, Attribute)]
        if rows:
            return rows
    return []


# --- the config -----------------------------------------------------------------------------------------


def _may_change(family: Iterable[ClassInfo], attribute: str) -> bool:
    """Whether the attribute of a config may have changed by the time it is read."""
    if attribute in models.CHANGED_CONFIG:
        return True
    trees = dict.fromkeys(each.module.tree for each in _lineages(family))
    return any(not changed.isdisjoint({attribute, "*"}) for changed in map(changed_config, trees))


@tree_cache(32)
def changed_config(tree: cst.Module) -> frozenset[str]:
    """The attributes of configs that a file writes; "*" if it may be any of them."""
    found = set()
    aliases = _aliases_of_configs(tree)
    for target in bound_targets(tree):
        if isinstance(target, cst.Attribute):
            receiver = last_name(target.value)
            if CONFIG_OBJECT.fits(receiver) or receiver in aliases:
                found.add(target.attr.value)
            elif target.attr.value == "config" and MODEL_OBJECT.fits(receiver):
                found.add("*")
            elif target.attr.value == "model" and dotted(target.value) != "self":
                found.add("*")  # an object may get another model
    for node in below(tree):
        if isinstance(node, cst.Call):
            found.update(_changed_by(node))
        elif isinstance(node, cst.Attribute) and node.attr.value == "__dict__":
            found.add("*")
    return frozenset(found)


def _aliases_of_configs(tree: cst.Module) -> set[str]:
    """The names that a file binds to expressions ending in `.config`."""
    assigned = [node for node in below(tree) if isinstance(node, cst.Assign)]
    configs = (node for node in assigned if isinstance(node.value, cst.Attribute) and last_name(node.value) == "config")
    return {name for node in configs for target in node.targets for name in binds(target)}


def _changed_by(call: cst.Call) -> Iterator[str]:
    """The attributes of a config that a call may write; "*" for any of them."""
    name = last_name(call.func)
    if name == "vars":
        yield "*"
    if name in models.CONFIG_WRITERS:
        yield models.CONFIG_WRITERS[name]
    if name == "update" and isinstance(call.func, cst.Attribute) and CONFIG_OBJECT.fits(last_name(call.func.value)):
        yield "*"
    if name in ("setattr", "delattr") and len(call.args) > 1 and CONFIG_OBJECT.fits(last_name(call.args[0].value)):
        key = call.args[1].value
        yield str(key.evaluated_value) if isinstance(key, cst.SimpleString) else "*"


# --- the constructor ------------------------------------------------------------------------------------


class ConstructorCall(NamedTuple):
    """`super().__init__(…)`, and the line that consists of it."""

    statement: cst.SimpleStatementLine
    call: cst.Call


def constructor_call(function: FunctionInfo) -> ConstructorCall | None:
    """The only `super().__init__(…)`, if it is directly in the body of an `__init__` and always reached."""
    own_class = function.cls.name if function.cls is not None else ""
    calls = [node for node in below(function.node.body) if _is_constructor_call(node, own_class)]
    for statement in _plain_statements(function) if len(calls) == 1 else ():
        match statement:
            case cst.SimpleStatementLine(body=[cst.Expr(value=cst.Call() as call)]) if call is calls[0]:
                return ConstructorCall(statement, call)
    return None


def _plain_statements(function: FunctionInfo) -> Iterator[cst.BaseStatement]:
    """The statements directly in a function's body, up to the first one that may leave it."""
    if not isinstance(function.node.body, cst.IndentedBlock):
        return
    for statement in function.node.body.body:
        if leaves(statement):
            return
        yield statement


def _is_constructor_call(node: cst.CSTNode, own_class: str) -> bool:
    """Whether it is `super().__init__(…)`; `super(Other, self)` would skip a class."""
    match node:
        case cst.Call(func=cst.Attribute(value=cst.Call(func=cst.Name("super"), args=args), attr=cst.Name("__init__"))):
            return not args or dotted(args[0].value) == own_class
    return False


def _passes_through(cls: ClassInfo, method: str) -> bool:
    """Whether creating the class runs each known `__init__`, and the method runs only after Trainer's `__init__`."""
    for each in cls.project_lineage():
        constructor = each.methods.get("__init__")
        if constructor is None:
            continue
        call = constructor_call(constructor)
        if call is None and not each.canonical:
            return False
        if method in _called_early(constructor, None if call is None else call.statement, cls):
            return False
    return True


def _called_early(constructor: FunctionInfo, last: cst.BaseStatement | None, cls: ClassInfo) -> set[str]:
    """The attributes of `self` that an `__init__` uses, itself or in methods, up to a statement (None: its end)."""
    early = []
    body = constructor.node.body
    for statement in body.body if isinstance(body, cst.BaseSuite) else ():
        early.append(statement)
        if statement is last:
            break
    found: set[str] = set()
    todo = _own_attributes(early, constructor)
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            method = cls.find(name)
            if method is not None:
                todo |= _own_attributes([method.node.body], method)
    return found


def _own_attributes(roots: Iterable[cst.CSTNode], method: FunctionInfo) -> set[str]:
    """The names of all `self.x` below some nodes of a method."""
    this = method.parameters[0].name if method.parameters else ""
    return {
        node.attr.value
        for root in roots
        for node in below(root)
        if isinstance(node, cst.Attribute) and isinstance(node.value, cst.Name) and node.value.value == this
    }


# --- an existing attribute -------------------------------------------------------------------------------


def _assigned(
    constructor: FunctionInfo, call: ConstructorCall, attribute: str
) -> Iterator[tuple[str, cst.BaseStatement]]:
    """The attributes that an `__init__` takes from the config of the bare model, with the statements."""
    this = constructor.parameters[0].name
    parameter_texts = {f"{name}.config.{attribute}" for name in _model_parameter(constructor, call.call)}
    attribute_texts = {f"{this}.model.config.{attribute}"}
    is_after_call = False
    for statement in _plain_statements(constructor):
        name = _attribute_assigned_from(
            statement, this, parameter_texts | attribute_texts if is_after_call else parameter_texts
        )
        if name:
            yield name, statement
        is_after_call = is_after_call or statement is call.statement


def _model_parameter(constructor: FunctionInfo, call: cst.Call) -> Iterator[str]:
    """The parameter of an `__init__` that is passed on as the model, if it is not rebound."""
    named = [arg.value for arg in call.args if keyword_of(arg) == "model"]
    first = [arg.value for arg in call.args[:1] if arg.keyword is None and not arg.star]
    unchanged_parameters = {parameter.name for parameter in constructor.parameters} - bound_names(constructor.node.body)
    for value in (named or (first if _takes_model_first(constructor) else []))[:1]:
        if isinstance(value, cst.Name) and value.value in unchanged_parameters:
            yield value.value


def _takes_model_first(constructor: FunctionInfo) -> bool:
    """Whether the first parameter of the next `__init__` is the model, as in Trainer and in those of TRL."""
    assert constructor.cls is not None  # it is an `__init__`
    above = constructor.cls.find_above("__init__")
    return above is None or [parameter.name for parameter in above.parameters[1:2]] == ["model"]


def _attribute_assigned_from(statement: cst.BaseStatement, this: str, sources: set[str]) -> str:
    """The `x` of `self.x = <one of the sources>`."""
    match statement:
        case cst.SimpleStatementLine(
            body=[
                cst.Assign(
                    targets=[cst.AssignTarget(target=cst.Attribute(value=cst.Name(owner), attr=cst.Name(name)))],
                    value=cst.Attribute() as value,
                )
            ]
        ) if owner == this and dotted(value) in sources:
            return name
    return ""


def _is_assigned_once(name: str, family: Iterable[ClassInfo]) -> bool:
    """Whether exactly one statement in the files of these classes assigns an attribute of that name."""
    lineages = _lineages(family)
    if any(name in cls.methods or name in cls.variables for cls in lineages):
        return False
    trees = dict.fromkeys(cls.module.tree for cls in lineages)
    stores = [each for tree in trees for each in bound_targets(tree) if isinstance(each, cst.Attribute)]
    return sum(each.attr.value == name for each in stores) == 1


# --- a name for a new attribute -------------------------------------------------------------------------


def _free_name(attribute: str, family: Iterable[ClassInfo]) -> str:
    """A name for the new attribute that has no meaning yet on instances of these classes."""
    reserved = _reserved_names(family)
    plain = attribute.lstrip("_")
    other = plain if plain.startswith("model_") else f"model_{plain}"
    numbered = (f"_{other}_{number}" for number in range(2, 1000))
    return next(name for name in (attribute, other, f"_{other}", *numbered) if name not in reserved)


def _spelled(tree: cst.Module) -> set[str]:
    """Strings in a file that may name an attribute (`getattr(trainer, "name")`), and the attributes it assigns."""
    texts = (node.raw_value for node in below(tree) if isinstance(node, cst.SimpleString))
    stored = (target.attr.value for target in bound_targets(tree) if isinstance(target, cst.Attribute))
    return {text for text in texts if isinstance(text, str) and text.isidentifier()} | set(stored)


def _reserved_names(family: Iterable[ClassInfo]) -> set[str]:
    """All names that have a meaning on `self`, in the known classes and in the tables of their bases."""
    reserved = set(TRAINER_NAMES)
    for tree in dict.fromkeys(cls.module.tree for cls in _lineages(family)):
        reserved |= _spelled(tree)
    for cls in _lineages(family):
        reserved |= {*cls.methods, *cls.assigned()}
        for statement in cls.node.body.body:
            if not isinstance(statement, cst.FunctionDef):
                reserved |= bound_names(statement)
        for method in cls.methods.values():
            reserved |= _own_attributes([method.node.body], method)
        for base in cls.library_bases():
            reserved |= library.members(base)
            if not base.startswith("transformers."):
                reserved |= CONFIG_NAMES_IN_TRAINERS
    return reserved
