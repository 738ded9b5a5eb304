"""Settings: attributes of which only the names are known, and what the names imply.

    args.save_results              SETTING, unless the file sets it
    self.config.train.seed         SETTING
    args.local_rank                unknown
    config["seed"]                 SETTING, if nothing is known of `config`, unless the file sets it
    torch.load(path)["step"]       SETTING
    self.output_dir                SETTING, unless the file sets it to something rank-local

The configuration with which a program is started is the same on all ranks, unless the program itself adds the rank to
it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions import creations, self_trained
from trl_lint.analysis.program.definitions.objects import ProjectInstance
from trl_lint.analysis.program.definitions.runners import run_by_all
from trl_lint.analysis.program.idioms import hyperparameters
from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.syntax import is_literal_none, last_name, names_in, of_class
from trl_lint.analysis.state import changed_settings, field_assignments, own_texts, records
from trl_lint.analysis.state.field_assignments import FieldAssignments, is_bound_at_line, path_before, value_at
from trl_lint.domain import ranks
from trl_lint.domain.ranks import Rank, State
from trl_lint.domain.values import UNKNOWN, Kind, Value
from trl_lint.knowledge.heuristics import (
    COUNTER,
    KEPT_COUNT,
    RANK_FIELD,
    RANK_LOCAL_PATH,
    RANK_NUMBER,
    SETTING_OF_RANK,
    SETTINGS_CLASS,
    SETTINGS_OBJECT,
    SHARED_PATH,
    WORLD_FIELD,
    is_rank_name,
)
from trl_lint.knowledge.lightning import is_callback, prepares_on_one
from trl_lint.knowledge.schema import RANK_INDEX, WORLD

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo, Parameter
    from trl_lint.analysis.program.project.project import Module, Project
    from trl_lint.analysis.state.arguments import Arguments
    from trl_lint.analysis.state.frame import Frame

SETTING = Value(ranks.SETTING)
# The kinds that a setting may have; for any other kind more is known than its name.
_KINDS = frozenset({Kind.UNKNOWN, Kind.NUMBER, Kind.STRING})
# What may be known of a counter: nothing, or that it was read from a file or a file's name. The result of a function
# that only computes is assumed to be a tensor, and so is a sum with something unknown.
_COUNTED = frozenset({ranks.UNKNOWN, ranks.IO_LOCAL})
# What a trainer's settings are annotated with.
_PLAIN_TYPES = frozenset({
    "Dict", "List", "Literal", "None", "Optional", "Path", "PathLike", "Sequence", "Tuple", "Union", "bool", "dict",
    "float", "int", "list", "os", "pathlib", "str", "tuple", "typing",
})  # fmt: skip
_KINDS_OF_COUNTERS = _KINDS | {Kind.BATCH, Kind.TENSOR}


def known_by_name(frame: Frame, node: cst.Attribute, owner: Value, value: Value) -> Value:
    """The value of an attribute; that of a setting, if its names say so and nothing else is known of it."""
    name = node.attr.value
    if value.kind not in _KINDS:
        return value
    is_setting = _is_setting(frame, node.value, owner, name) or _is_changed_setting(frame, node, owner)
    if not (is_setting or _is_shared_path(frame, name)):
        return value
    return SETTING if value is UNKNOWN else value.replace(rank=ranks.SETTING)


def length_by_name(frame: Frame, expression: cst.BaseExpression | None, length: Rank) -> Rank:
    """The length of a list; that of a setting, if it is unknown and the names say so."""
    if length != ranks.UNKNOWN or not isinstance(expression, cst.Attribute):
        return length
    return ranks.SETTING if _is_setting(frame, expression.value, UNKNOWN, expression.attr.value) else length


def may_be_set_by_rank(frame: Frame, node: cst.Attribute) -> bool:
    """Whether code sets an attribute of a settings object by the rank: `args.save_logs = is_master(args)`.

    The parser gives all ranks the same. Later assignments by the program are not followed: neither those of this file,
    nor a rank number that a helper stores there, whether or not there is an option of that name.
    """
    name = node.attr.value
    if RANK_FIELD.fits(name):
        return True
    owner = last_name(node.value)
    if owner in ("", "self"):
        return False
    texts = (text for text in _assigned(frame, name) if text.startswith(f"{owner}."))
    is_set_here = any(_is_set_by_rank(text, name) for text in texts)
    return is_set_here or (owner, name) in _set_by_rank(frame.engine.project) or own_texts.is_own(frame, name)


def is_assigned(frame: Frame, name: str) -> bool:
    """Whether the file assigns to an attribute of this name, of any object."""
    return bool(_assigned(frame, name))


def is_set_on_self(frame: Frame, field: str) -> bool:
    """Whether the file sets this field of an object that `self` has: `self.args.field = value`."""
    return re.search(rf"\bself\.\w+\.{field}\s*=(?!=)", frame.module.text) is not None


def count_by_name(expression: cst.BaseExpression, value: Value) -> Value:
    """A value put into a text; the fact of a setting for a counter of which only its name is known.

    Or for one that each rank has read from a checkpoint: it is the same one.
    """
    is_count = value.rank in _COUNTED and value.kind in _KINDS_OF_COUNTERS and COUNTER.fits(last_name(expression))
    return value.replace(rank=ranks.SETTING) if is_count else value


def counts_by_name(args: Arguments) -> list[Value]:
    """The arguments of a call that puts them into a text: `str(global_step)`, `"{}.pt".format(global_step)`."""
    named = ((args.expression(key), value) for key, value in args.named())
    starred = (value for value in (args.star, args.double) if value is not None)
    return [*(value if node is None else count_by_name(node, value) for node, value in named), *starred]


def parameter_by_name(name: str, value: Value) -> Value:
    """A parameter of an entry point of which nothing is known, refined by its name."""
    if value.rank != ranks.UNKNOWN or value.kind not in _KINDS:
        return value
    if value.kind is not Kind.STRING and WORLD_FIELD.fits(name):
        return WORLD
    if value.kind is not Kind.STRING and RANK_NUMBER.fits(name) and not name.startswith("get_"):
        return RANK_INDEX
    is_count = COUNTER.fits(name) or KEPT_COUNT.fits(name)
    is_setting = is_count or _is_path_name(name) or (SETTINGS_OBJECT.fits(name) and value is UNKNOWN)
    return value.replace(rank=ranks.SETTING) if is_setting else value


def option(name: str, value: Value) -> Value:
    """A parameter of a command that no known caller passes: set on the command line, unless it is named like a rank."""
    if value.rank != ranks.UNKNOWN or value.kind not in _KINDS or _is_rank_name(name):
        return value
    return value.replace(rank=ranks.SETTING)


def of_constructor(cls: ClassInfo, constructor: FunctionInfo) -> dict[str, Value]:
    """The parameters of a constructor, which no known code calls, that have the same arguments on all ranks.

    Those of a callback of Lightning are usually settings, such as `every_n_steps=None`: each rank makes the same one.
    So are those of a module or a data module, of the parts that one of them is given, and of what a runner has.
    So is what a module of Lightning saves as its hyperparameters.
    So are the texts, numbers and tables that it gets, or a trainer which wraps its model itself: `fold: int`.
    """
    if _is_made_by_each(cls) or any(map(partial(_gets, cls), cls.module.classes)) or self_trained.wraps_own_part(cls):
        plain = [each.name for each in constructor.parameters if _is_plain(each.default) or _is_plain_type(each)]
        plain += hyperparameters.named_by(constructor)
    else:
        return _flags_of_program(constructor)
    return {name: SETTING for name in plain if not _is_rank_name(name)}


def _is_made_by_each(cls: ClassInfo) -> bool:
    """Whether a library has each process make such an object: a callback, a module, a metric or the like."""
    bases = cls.library_bases()
    return is_callback(bases) or prepares_on_one(bases) or bool(run_by_all(cls))


def _gets(part: ClassInfo, whole: ClassInfo) -> bool:
    """Whether an object that each process makes is given one of this class: `splitter: Splitter | None = None`."""
    if not _is_made_by_each(whole) or "__init__" not in whole.methods:
        return False
    annotations = (each.annotation for each in whole.methods["__init__"].parameters)
    return any(each is not None and part.name in names_in(each) for each in annotations)


def _is_plain_type(parameter: Parameter) -> bool:
    """Whether it is annotated as a text, a number, a path or a built-in container of these: `dict[str, int] | None`."""
    names = set() if parameter.annotation is None else names_in(parameter.annotation)
    return bool(names) and names <= _PLAIN_TYPES


def _is_plain(default: cst.BaseExpression | None) -> bool:
    """Whether it is a number, a flag, a text or None."""
    number = default.expression if isinstance(default, cst.UnaryOperation) else default  # `-1`
    is_text_or_number = isinstance(default, cst.SimpleString) or isinstance(number, cst.BaseNumber)
    return is_text_or_number or _is_flag(default) or is_literal_none(default)


def _flags_of_program(constructor: FunctionInfo) -> dict[str, Value]:
    """The flags of a constructor that creates an Accelerator: each process of a program passes the same ones.

    A flag is True or False by default, or is compared with either: `clear is True`.
    """
    calls = of_class(constructor.node, cst.Call)
    if not any(last_name(call.func) == "Accelerator" for call in calls):
        return {}
    compared = {
        each.left.value
        for each in of_class(constructor.node, cst.Comparison)
        if isinstance(each.left, cst.Name) and _is_flag(each.comparisons[0].comparator)
    }
    flags = (each.name for each in constructor.parameters if _is_flag(each.default) or each.name in compared)
    return {name: SETTING for name in flags if not _is_rank_name(name)}


def _is_flag(value: cst.BaseExpression | None) -> bool:
    return isinstance(value, cst.Name) and value.value in ("False", "True")


def is_uniform_item(frame: Frame, expression: cst.BaseExpression | None, owner: Value, key: Value) -> bool:
    """Whether an item of an unknown object is the same on all ranks: of settings, or a counter of a checkpoint."""
    if expression is None or not isinstance(key.const, str):
        return False
    if isinstance(owner, ProjectInstance):  # whose own `__getitem__` gives something unknown
        is_set_by_rank = any(map(SETTING_OF_RANK.fits, _set_under(owner.cls.module, key.const)))
        if is_set_by_rank or owner.cls.library_bases():
            return False
    elif not is_unknown(owner):
        return False
    is_setting = are_settings(expression) and may_hold_setting(key) and key.const not in _keys_set(frame.module)
    return is_setting or COUNTER.fits(key.const)


def item_of(frame: Frame, key: Value, item: Value) -> Value:
    """An item of settings, unless the file puts something under that key, into any object, or it is rank-local.

    A part of a list that the number of the rank decides is this rank's own: `json.load(file)[rank::size]`.
    """
    if key.kind is Kind.TUPLE and item.rank.is_by_rank:
        return item
    return SETTING if may_hold_setting(key) and key.const not in _keys_set_to_more(frame.module) else UNKNOWN


def is_unknown(value: Value) -> bool:
    """Whether nothing is known of a value: the result of a function that only computes is assumed to be a tensor."""
    return value.kind in (Kind.TENSOR, Kind.UNKNOWN) and value.rank == ranks.UNKNOWN


def may_hold_setting(key: Value) -> bool:
    """Whether settings hold the same value on all ranks under a key: `cfg["output_dir"]`."""
    return key.rank.state is State.SAME and not (isinstance(key.const, str) and _is_rank_name(key.const))


def returns_setting(owner: Value, args: Arguments) -> bool:
    """Whether a method of a setting returns a setting, too: `cfg.get("seed", 0)`, `args.output_dir.rstrip("/")`."""
    arguments = args.all()
    return ranks.combine(owner.rank, args.rank()) == ranks.SETTING and all(
        each.rank == ranks.SETTING or may_hold_setting(each) for each in arguments
    )


def attribute_of(owner: Value, name: str) -> Value:
    """An attribute of an object that was created from settings, unless its name is that of a rank."""
    return unless_rank_name(name, SETTING) if owner.rank == ranks.SETTING else UNKNOWN


def unless_rank_name(name: str, value: Value) -> Value:
    """The value of a name; unknown instead of a setting if the name is that of a rank."""
    return UNKNOWN if value.rank == ranks.SETTING and _is_rank_name(name) else value


def spread(frame: Frame, name: str, value: Value) -> Value:
    """The value of a parameter in `**vars(args)`; unknown if any file sets an attribute of this name by the rank."""
    is_rank_local = value.rank == ranks.SETTING and any(
        field == name for _, field in _set_by_rank(frame.engine.project)
    )
    return UNKNOWN if is_rank_local else unless_rank_name(name, own_texts.unless_own(frame, name, value))


def _is_changed_setting(frame: Frame, node: cst.Attribute, owner: Value) -> bool:
    """Whether it is a setting that the file sets only in the function that reads it, in the same way on all ranks."""
    name = node.attr.value
    if not isinstance(node.value, cst.Name) or _is_rank_name(name):
        return False
    if not (owner.rank == ranks.SETTING or are_settings(node.value)):
        return False
    texts = _assigned(frame, name)
    own = [each for each in texts if each.startswith(f"{node.value.value}.")]
    others = all(each.startswith("self.") or _copies(each, name) for each in texts if each not in own)
    return bool(own) and others and changed_settings.is_still_a_setting(frame, node, len(own))


def _is_plain_field(owner: Value, name: str) -> bool:
    """Whether it is a field of a record that its class calls settings: `training: bool` of `class RunSettings`."""
    cls = owner.cls if isinstance(owner, ProjectInstance) else None
    if cls is None or not SETTINGS_CLASS.fits(cls.name) or name not in records.fields_of(cls):
        return False
    if records.has_default_factory(cls, name):
        return False  # such as a name that each process draws
    annotation = records.annotation_of(cls, name)[1]
    return annotation is not None and names_in(annotation) <= _PLAIN_TYPES


def _is_setting(frame: Frame, expression: cst.BaseExpression, owner: Value, name: str) -> bool:
    """Whether `args.debug`, `self.config.train.debug` is a setting: the file never sets it."""
    is_of_settings = owner.rank == ranks.SETTING or are_settings(expression) or _is_plain_field(owner, name)
    if _is_rank_name(name) or not is_of_settings:
        return False
    defaults = _assignments(frame.module).defaults
    return all(
        text in defaults
        or text.startswith("self.")
        or _copies(text, name)
        or _extends(text, name)
        or _hands_on(frame, text, name)
        for text in _assigned(frame, name)
    )


def are_settings(expression: cst.BaseExpression) -> bool:
    """Whether an object is a settings object by its names: `args`, `self.config.train`."""
    names = []
    while isinstance(expression, cst.Attribute):
        names.append(expression.attr.value)
        expression = expression.value
    if not isinstance(expression, cst.Name):
        return False
    names.append(expression.value)
    return any(map(SETTINGS_OBJECT.fits, names)) and not any(map(_is_rank_name, names))


# It begins with the rare part: the owner is matched only after that.
_ASSIGNMENT = re.compile(r"\.(\w+)[ \t]*=(?!=)")
_KEY_SET = re.compile(r"""\[\s*["'](\w+)["']\s*\]\s*[|&]?=(?!=)""")
_KEY_ASSIGNMENT = re.compile(r"""\[\s*["'](\w+)["']\s*\]\s*[|&]?=(?!=)[ \t]*""")
_OPTION = re.compile(r"""(?:\w+\.[\w.]+|["'][^"']*["']|[\d.e-]+|True|False|None)[ \t]*(?:#.*)?""")
# Words for the time of day.
_TIME = re.compile(r"(?i)\w*(?:time|date|now)\w*")
# Methods that derive a text from a text: `.split(",")`, `.strip().lower()`.
_TEXT_CALLS = r"""(?:\.(?:lower|[lr]?strip|r?split|splitlines|upper)\((?:"[^"]*"|'[^']*')?\))*"""


# `self.path = path`, `self.path = Path(path)`.
_STORED = re.compile(r"self\.\w+\s*=\s*(?:[\w.]+\()?(\w+)\)?\s*(?:#.*)?")


def _copies(text: str, name: str) -> bool:
    """Whether a text copies a setting: `self.debug = cfg.debug`, `args.names = args.names.split(",")`."""
    field = re.escape(name)
    return re.fullmatch(rf"\w*\.{field}\s*=\s*[\w.]+\.{field}{_TEXT_CALLS}\s*(?:#.*)?", text) is not None


def _hands_on(frame: Frame, text: str, name: str) -> bool:
    """Whether a text stores what the code is handed under the same name, and never computes: `cfg.run.tag = tag`."""
    if re.fullmatch(rf"\w*\.{re.escape(name)}\s*=\s*{re.escape(name)}\s*(?:#.*)?", text) is None:
        return False
    return not is_bound_at_line(frame.module.text, name)


def _extends(text: str, name: str) -> bool:
    """Whether a text extends it by nothing rank-local but the time: `args.out = os.path.join(args.out, args.name)`."""
    value = _TIME.sub("", text.partition("=")[2])
    reads_itself = re.search(rf"\.{re.escape(name)}\b", value) is not None
    return reads_itself and not SETTING_OF_RANK.fits(value) and not RANK_LOCAL_PATH.fits(value)


def _is_shared_path(frame: Frame, name: str) -> bool:
    """Whether `self.output_dir` is a shared path: the program sets it to nothing that may be rank-local."""
    if not _is_path_name(name):
        return False
    texts = _assigned(frame, name)
    return not any(map(RANK_LOCAL_PATH.fits, texts)) and not any(_may_be_passed(frame, each) for each in texts)


def _may_be_passed(frame: Frame, text: str) -> bool:
    """Whether an assignment stores what the constructor is passed, and that may be rank-local: `self.path = path`."""
    stored = _STORED.fullmatch(text)
    if stored is None or frame.cls is None:
        return False
    return creations.may_differ(frame.engine.project, frame.cls, stored[1])


def _is_path_name(name: str) -> bool:
    return SHARED_PATH.fits(name) and not RANK_LOCAL_PATH.fits(name)


def _is_rank_name(name: str) -> bool:
    return is_rank_name(name) or SETTING_OF_RANK.fits(name)


def _is_set_by_rank(text: str, name: str) -> bool:
    """Whether it is set by the rank: `args.save_logs = is_master(args)`, not `args.names = args.names.split(",")`."""
    return SETTING_OF_RANK.fits(text) and (_is_rank_name(name) or not _copies(text, name))


@noted
def _set_by_rank(project: Project) -> frozenset[tuple[str, str]]:
    """The attributes that any linted file sets on a settings object, or on a part of one, by the rank: both names."""
    texts = (project.text(path).decode("utf-8", "replace") for path in sorted(project.linted))
    return frozenset(
        (owners[0], match[1])
        for text in texts
        for match in _ASSIGNMENT.finditer(text)
        if any(map(SETTINGS_OBJECT.fits, owners := path_before(text, match.start())))
        and SETTING_OF_RANK.fits(value := value_at(text, match.end()))
        and _is_set_by_rank(f"{owners[0]}{match[0]}{value}", match[1])
    )


@noted
def _keys_set(module: Module) -> frozenset[str]:
    """The keys under which a file puts anything, into any object: `config["seed"] = seed`."""
    return frozenset(_KEY_SET.findall(module.text))


def _set_under(module: Module, key: str) -> Sequence[str]:
    """What a file puts under a key of any object: each as far as the end of its statement."""
    return _by_key(module).get(key, ())


@noted
def _by_key(module: Module) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for match in _KEY_ASSIGNMENT.finditer(module.text):
        found[match[1]].append(value_at(module.text, match.end()))
    return found


@noted
def _keys_set_to_more(module: Module) -> frozenset[str]:
    """The keys under which a file puts more than an option or a literal, unlike `config["seed"] = args.seed`."""
    return frozenset(
        key
        for key, values in _by_key(module).items()
        if any(SETTING_OF_RANK.fits(each) or not _OPTION.fullmatch(each) for each in values)
    )


def _assigned(frame: Frame, name: str) -> Sequence[str]:
    """A file's assignments to this attribute of any object: each from the last word before the dot on."""
    return _assignments(frame.module).by_field.get(name, ())


@noted
def _assignments(module: Module) -> FieldAssignments:
    return field_assignments.in_text(module.text)
