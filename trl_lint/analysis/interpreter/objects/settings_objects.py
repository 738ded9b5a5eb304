"""Objects that hold settings: from a command line, from files that all ranks read, or as attributes set from arguments.

For example:

    json.load(open(args.config))           SETTING, if the path is the same on all ranks
    json.load(open(f"{rank}.json"))        unknown
    tyro.cli(Config)                       SETTING
    fire.Fire(main)                        every parameter of `main` is a SETTING
    Namespace(**json.load(open(path)))     SETTING, and so is EasyDict(…)

    class AttrDict(dict):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.__dict__ = self           AttrDict(json.load(file)).seed: SETTING
    class HParams:
        def __init__(self, **kwargs):
            for name, value in kwargs.items():
                setattr(self, name, value) HParams(**json.load(file)).seed: SETTING, also of a class with methods
    AttrDict(loss=loss, rate=1.0)          a dict with two entries
    Munch(g=generator, d=discriminator)    a dict with two entries
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.interpreter.operations import dict_constructors
from trl_lint.analysis.program.definitions.objects import FunctionValue
from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.syntax import assignments, callee_of, last_name, names_in, of_class
from trl_lint.analysis.state import settings
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.transfer.models import trained_apart
from trl_lint.domain import ranks
from trl_lint.domain.kinds import ContainerValue, LibraryInstance
from trl_lint.domain.values import UNKNOWN, Kind, Value
from trl_lint.knowledge.python import COMMAND_LINES, DICTS_OF_ATTRIBUTES, MAKE_NAMES, MAKE_SETTINGS, READ_FILES

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame


def opened(args: Arguments) -> Value:
    """`open(path)`: all ranks read the same content. A file opened for writing is unknown."""
    path, mode = args.get(0, "file"), args.get(1, "mode")
    reads = mode is None or (isinstance(mode.const, str) and mode.const.startswith("r"))
    return settings.SETTING if reads and path is not None and path.rank.is_uniform else UNKNOWN


def _command_line(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`fire.Fire(main)`: the command line gives the arguments of `main`, or the fields of a class."""
    callee = args.positional[0] if args.positional else UNKNOWN
    result = frame.engine.unresolved(frame, args, node)
    if not isinstance(callee, FunctionValue):
        return settings.SETTING
    callee.function.is_command = True
    frame.engine.note_stored(_command_line, callee.function)
    return result


def _read(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`json.load(file)`."""
    frame.engine.unresolved(frame, args, node)
    source = next(iter(args.all()), UNKNOWN)
    return settings.SETTING if source.rank.is_uniform else UNKNOWN


def _settings_object(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`Namespace(**options)`."""
    frame.engine.unresolved(frame, args, node)
    return settings.SETTING if _are_uniform(args) else UNKNOWN


def _name_of_contents(frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`md5(text)`."""
    return _settings_object(frame, args, node) if args.all() else UNKNOWN


def _dict_of_attributes(name: str, frame: Frame, args: Arguments, node: cst.CSTNode) -> Value:
    """`EasyDict(options)`, in which programs store other things than settings, too: `Munch(encoder=encoder)`."""
    is_written_out = args.star is None and args.double is None and not args.positional
    if is_written_out and any(map(trained_apart.is_model, args.keywords.values())):
        return dict_constructors.new_dict(frame, args, node)
    frame.engine.unresolved(frame, args, node)
    return LibraryInstance(name, ranks.SETTING if args.all() and _are_uniform(args) else ranks.UNKNOWN)


def _are_uniform(args: Arguments) -> bool:
    return all(each.rank.is_uniform for each in args.all())


HANDLERS: dict[str, Callable[[Frame, Arguments, cst.CSTNode], Value]] = {
    **dict.fromkeys(COMMAND_LINES, _command_line),
    **dict.fromkeys(MAKE_SETTINGS, _settings_object),
    **dict.fromkeys(READ_FILES, _read),
    **dict.fromkeys(MAKE_NAMES, _name_of_contents),
    **{name: partial(_dict_of_attributes, name) for name in DICTS_OF_ATTRIBUTES},
}


# With only these methods, an object holds nothing but what it was passed.
_OF_DICTS = frozenset({"copy", "get", "items", "keys", "pop", "to_dict", "update", "values"})
_SELF = "self"
# The result of a function of settings counts as a tensor if nothing more is known: `json.loads(text)`.
_PLAIN = frozenset({Kind.NUMBER, Kind.STRING, Kind.TENSOR, Kind.UNKNOWN})


def settings_of(cls: ClassInfo, args: Arguments) -> Value | None:
    """An object that keeps its arguments as attributes, if all are settings; None for other classes or arguments."""
    arguments = args.all()
    if not any(each.rank == ranks.SETTING for each in arguments) or not all(map(_is_plain_and_uniform, arguments)):
        return None
    return LibraryInstance(DICTS_OF_ATTRIBUTES[0], ranks.SETTING) if _holds_its_arguments(cls) else None


@noted
def keeps_what_it_is_given(cls: ClassInfo) -> bool:
    """Whether an object has the keyword arguments that it was made with as attributes, whatever else its class does."""
    init = cls.methods.get("__init__")
    return not cls.bases and init is not None and _sets_each(init.node)


# Under this name an object has what it keeps by names that no code writes out.
_BY_ANY_NAME = "*"


def keep_by_any_name(frame: Frame, cls: ClassInfo, value: Value) -> None:
    """`for name, value in options.items(): setattr(self, name, value)` in any method."""
    frame.write_attribute(cls, _BY_ANY_NAME, value)


def keeps_options(frame: Frame, cls: ClassInfo) -> bool:
    """Whether the objects of a class keep options of the program as attributes, and nothing else without a name."""
    kept = frame.read_attribute(cls, _BY_ANY_NAME)
    return kept is not None and kept.rank == ranks.SETTING and not any(map(_sets_otherwise, cls.project_lineage()))


@noted
def _sets_otherwise(cls: ClassInfo) -> bool:
    """`object.__setattr__(self, name, value)`, `vars(self)[name] = value`: nobody knows what has which name."""
    items = [target.value for target, _ in assignments(cls.node) if isinstance(target, cst.Subscript)]
    is_in_dict = any(last_name(callee_of(each)) in ("__dict__", "vars") for each in items)
    return is_in_dict or "__setattr__" in names_in(cls.node)


def kept_option(frame: Frame, cls: ClassInfo, name: str) -> Value | None:
    """What an object has under a name that none of its code sets, if it keeps options of the program as attributes."""
    return settings.spread(frame, name, settings.SETTING) if keeps_options(frame, cls) else None


def is_dict_of(cls: ClassInfo, args: Arguments) -> bool:
    """Whether a class is a dict that also answers to attributes, and is created with entries that are known."""
    if args.star is not None or args.double is not None or not all(map(_is_container, args.positional)):
        return False
    return bool(args.all()) and _is_dict_of_attributes(cls)


def _is_container(value: Value) -> bool:
    return isinstance(value, ContainerValue)


def _is_plain_and_uniform(value: Value) -> bool:
    return value.rank.is_uniform and value.kind in _PLAIN


@noted
def _holds_its_arguments(cls: ClassInfo) -> bool:
    if _is_dict_of_attributes(cls):
        return True
    init = cls.methods.get("__init__")
    return _has_no_other_methods(cls) and not cls.bases and init is not None and _sets_each(init.node)


@noted
def _is_dict_of_attributes(cls: ClassInfo) -> bool:
    if not _has_no_other_methods(cls) or not any(last_name(each.value) == "dict" for each in cls.node.bases):
        return False
    return "__getattr__" in cls.methods or "__getattr__" in cls.variables or _is_attribute_dict(cls)


def _has_no_other_methods(cls: ClassInfo) -> bool:
    return all(_is_special(name) or name in _OF_DICTS for name in cls.methods)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _is_attribute_dict(cls: ClassInfo) -> bool:
    """`self.__dict__ = self`."""
    return any(
        isinstance(value, cst.Name) and value.value == _SELF and last_name(target) == "__dict__"
        for target, value in assignments(cls.node)
    )


def _sets_each(init: cst.CSTNode) -> bool:
    """`for name, value in given.items(): setattr(self, name, value)`, or `self.__dict__.update(given)`."""
    for loop in of_class(init, cst.For):
        calls = of_class(loop.body, cst.Call)
        if any(last_name(call.func) == "setattr" and _is_of_self(call) for call in calls):
            return isinstance(loop.iter, cst.Call) and last_name(loop.iter.func) == "items"
    return any(_updates_dict(call) for call in of_class(init, cst.Call))


def _is_of_self(call: cst.Call) -> bool:
    return bool(call.args) and isinstance(call.args[0].value, cst.Name) and call.args[0].value.value == _SELF


def _updates_dict(call: cst.Call) -> bool:
    match call.func:
        case cst.Attribute(value=cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value="__dict__"))):
            return call.func.attr.value == "update"
    return False
