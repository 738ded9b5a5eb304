"""Registries: classes that decorators put into a table of the project, to be looked up by their names.

    @MODELS.register("small")                MODELS.get(args.kind)      one of the classes with such a decorator
    class Small: ...                         MODELS[args.kind]          the same
                                             MODELS.build(args.model)   an instance of one of them
                                             build_from_cfg(args.model, MODELS)    the same
    @register_model("large")                 TABLE[args.kind]           the same, where `register_model` is a function
    class Large: ...                                                    that assigns `TABLE[name]`
    class Small(Task): ...                   Task.kinds[args.kind]      an heir of Task, which enters its heirs there

What the code of the registry does with the class is not followed: the text of the linted files, and of those that they
import, shows the decorators (see `registrations`).
Of classes that are too many, or beside functions, each is followed, but nothing is known of the result.
Nothing is known if the file that defines the table is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import libcst as cst

from trl_lint.analysis.program.definitions import registrations
from trl_lint.analysis.program.definitions.objects import ClassValue, FunctionValue, class_of
from trl_lint.analysis.program.project.classes import ClassInfo, is_module_class
from trl_lint.analysis.program.project.import_lines import is_apart
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import callee_of, last_name
from trl_lint.analysis.state import settings
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain import ranks
from trl_lint.domain.choices import MAX_OPTIONS, AmongOthers
from trl_lint.domain.joins import join_all
from trl_lint.domain.kinds import LibraryName, ProjectName
from trl_lint.domain.values import UNKNOWN, Value
from trl_lint.knowledge.openmmlab import BUILD_FROM_REGISTRY, REGISTRY

# Methods of registries that return a class, and those that return an instance of one.
_GIVES_CLASS = frozenset({"get", "get_class", "lookup"})
_MAKES = frozenset({"build", "create", "instantiate"})
METHODS = _GIVES_CLASS | _MAKES
# Parameters of such methods: which class it is, and its settings.
_SETTINGS = frozenset({"cfg", "config", "name", "kind", "type", "default_args", "args", "kwargs"})
# The most classes and functions, but for networks, that are followed where it is not known which is looked up.
_MOST_FOLLOWED = 24


def entry(frame: Frame, table: cst.CSTNode, key: Value, known: Value) -> Value:
    """`TABLE[key]`. known: what is known of it otherwise."""
    classes = UNKNOWN if key.rank.differs else _classes_in(frame, table)
    return known if classes is UNKNOWN else classes


def called(frame: Frame, method: str, args: Arguments, node: cst.CSTNode, known: Value) -> Value:
    """`REGISTRY.get(name)`, `REGISTRY.build(config)`. known: what is known of it otherwise."""
    callee = callee_of(node)
    table = callee.value if isinstance(callee, cst.Attribute) else callee
    classes = UNKNOWN if args.rank().differs else _classes_in(frame, table)
    if classes is UNKNOWN:
        return known
    if method in _GIVES_CLASS:
        return classes
    return frame.engine.call_value(frame, classes, _handed_on(args), node)


def built(frame: Frame, callee: Value, args: Arguments, node: cst.CSTNode, known: Value) -> Value:
    """`build_from_cfg(config, REGISTRY)`, of OpenMMLab or of the project. known: what is known of it otherwise."""
    registry = args.node(*REGISTRY) if _builds(callee) else None
    if registry is None or args.rank().differs:
        return known
    classes = _classes_in(frame, registry.value)
    if classes is UNKNOWN:
        return known
    return frame.engine.call_value(frame, classes, _handed_on(args), node)


def _builds(callee: Value) -> bool:
    """Whether a function makes an object of a class in a registry that it is passed."""
    position, name = REGISTRY
    if isinstance(callee, LibraryName):
        return callee.name.rpartition(".")[2] in BUILD_FROM_REGISTRY
    if not isinstance(callee, FunctionValue):
        return False
    taken = callee.function.parameters
    return len(taken) > position and taken[position].name == name


def _handed_on(args: Arguments) -> Arguments:
    """What a class is made with: what the settings say, and the named arguments beside them.

    Of registries in common use, mmengine's, detectron2's and timm's hand named arguments on.
    """
    handed = Arguments((), {name: value for name, value in args.keywords.items() if name not in _SETTINGS})
    said = args.positional[0] if args.positional else args.keywords.get("cfg", args.keywords.get("config", UNKNOWN))
    if said.rank == ranks.SETTING:
        handed.double = settings.SETTING
    else:
        handed.star = handed.double = UNKNOWN
    handed.nodes = {name: arg for name, arg in args.nodes.items() if name in handed.keywords}
    return handed


def _name_of(expression: cst.CSTNode) -> str:
    """The name of a registry, if it is written like one: as a constant, or with the word in it."""
    name = last_name(expression)
    return name if name.isupper() or "regist" in name.lower() else ""


def _classes_in(frame: Frame, table: cst.CSTNode) -> Value:
    """What may be looked up in a table; UNKNOWN if it is no registry, or has other things."""
    found = list(_in_own_table(frame, table) or _in_table(frame, table))
    if not found or not all(isinstance(each, (ClassValue, FunctionValue)) for each in found):
        return UNKNOWN
    if len(found) <= MAX_OPTIONS and all(isinstance(each, ClassValue) for each in found):
        return join_all(found)
    followed = [each for each in found if not (isinstance(each, ClassValue) and is_module_class(each.cls))]
    return UNKNOWN.as_a(AmongOthers).with_parts(tuple(followed)) if 0 < len(followed) <= _MOST_FOLLOWED else UNKNOWN


def _in_table(frame: Frame, table: cst.CSTNode) -> Iterable[Value]:
    name = _name_of(table)
    if not name:
        return ()
    home = _home(frame, frame.module, table)
    found = registrations.in_table(frame.engine.project, name, home)
    return (frame.engine.settle(each) for each in found if _is_in(frame, each.path, name, home))


def _in_own_table(frame: Frame, table: cst.CSTNode) -> Iterable[Value]:
    """`Task.kinds`, `cls.kinds`: the classes in a table of a class."""
    holder = frame.known_value(table.value) if isinstance(table, cst.Attribute) else None
    cls = None if holder is None else class_of(frame.engine.settle(holder))
    name = last_name(table)
    owner = None if cls is None else next((each for each in cls.project_lineage() if name in each.variables), None)
    if owner is None:
        return ()
    found = map(frame.engine.settle, registrations.in_table_of(frame.engine.project, owner, name))
    return [each for each in found if _is_of(frame, owner, each)]


def _is_of(frame: Frame, owner: ClassInfo, value: Value) -> bool:
    """Whether a class is an heir of another one, or in a file in which the name of that means it.

    What is in another program, which the code that looks it up is no part of, is not entered there.
    """
    if isinstance(value, ClassValue) and is_apart(frame.engine.project, frame.module.path, value.cls.module.path):
        return False
    if not isinstance(value, ClassValue) or owner in value.cls.project_lineage():
        return True
    names = frame.engine.global_names(value.cls.module)
    return class_of(frame.engine.settle(names.get(owner.name, UNKNOWN))) in (None, owner)


def _home(frame: Frame, module: Module, table: cst.CSTNode) -> Path | None:
    """The file that defines a table; None if that is not known."""
    name = last_name(table.value if isinstance(table, cst.Attribute) else table)
    bound = frame.engine.global_names(module).get(name)
    if isinstance(table, cst.Attribute):
        if not (isinstance(bound, ProjectName) and bound.name is None):
            return None
        bound = ProjectName(bound.path, table.attr.value)
    binding = frame.engine.binding_module(bound) if isinstance(bound, ProjectName) else module
    return None if binding is None else binding.path


def _is_in(frame: Frame, path: Path, name: str, home: Path | None) -> bool:
    """Whether a registry's name means this one in a file, as far as the file binds the name, and no program apart."""
    module = frame.engine.project.module(path)
    if module is None or home is None or is_apart(frame.engine.project, frame.module.path, path):
        return False
    frame.engine.load(module)
    return name not in frame.engine.global_names(module) or _home(frame, module, cst.Name(name)) == home
