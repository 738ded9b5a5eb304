"""Registries: classes that decorators put into a table of the project, to be looked up by their names.

    @MODELS.register("small")                MODELS.get(args.kind)      one of the classes with such a decorator
    class Small: ...                         MODELS[args.kind]          the same
                                             MODELS.build(args.model)   an instance of one of them
    @register_model("large")                 TABLE[args.kind]           the same, where `register_model` is a function
    class Large: ...                                                    that assigns `TABLE[name]`

What the code of the registry does with the class is not followed: the text of the linted files, and of those that they
import, shows the decorators.
Nothing is known if functions are registered as well, or if the file that defines the table is not known.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import libcst as cst

from trl_lint.analysis.program.project.import_lines import linted_and_imported
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import callee_of, last_name
from trl_lint.analysis.state.arguments import Arguments
from trl_lint.analysis.state.frame import Frame
from trl_lint.domain.choices import MAX_OPTIONS
from trl_lint.domain.joins import join_all
from trl_lint.domain.kinds import ProjectName
from trl_lint.domain.values import UNKNOWN, Kind, Value

# Methods of registries that return a class, and those that return an instance of one.
_GIVES_CLASS = frozenset({"get", "get_class", "lookup"})
_MAKES = frozenset({"build", "create", "instantiate"})
METHODS = _GIVES_CLASS | _MAKES
# Parameters of such methods: which class it is, and its settings.
_SETTINGS = frozenset({"cfg", "config", "name", "kind", "type", "default_args", "args", "kwargs"})
# What stands between the decorator and the name that it decorates: its arguments, and other decorators.
_TO_NAME = rb"[ \t]*(?:\([^()\n]*\))?[ \t]*\r?\n(?:@[^\n]*\n)*(class|def)[ \t]+(\w+)"


def entry(frame: Frame, table: cst.CSTNode, key: Value, known: Value) -> Value:
    """`TABLE[key]`. known: what is known of it otherwise."""
    name = _name_of(table)
    classes = UNKNOWN if not name or key.rank.differs else _choice(frame, table, name)
    return known if classes is UNKNOWN else classes


def called(frame: Frame, method: str, args: Arguments, node: cst.CSTNode, known: Value) -> Value:
    """`REGISTRY.get(name)`, `REGISTRY.build(config)`. known: what is known of it otherwise."""
    callee = callee_of(node)
    table = callee.value if isinstance(callee, cst.Attribute) else callee
    name = _name_of(table)
    classes = UNKNOWN if not name or args.rank().differs else _choice(frame, table, name)
    if classes is UNKNOWN:
        return known
    if method in _GIVES_CLASS:
        return classes
    return frame.engine.call_value(frame, classes, _handed_on(args), node)


def _handed_on(args: Arguments) -> Arguments:
    """What a class is made with: the settings, of which nothing is known, and the named arguments beside them.

    Of registries in common use, mmengine's, detectron2's and timm's hand named arguments on.
    """
    handed = Arguments((), {name: value for name, value in args.keywords.items() if name not in _SETTINGS})
    handed.star = handed.double = UNKNOWN
    handed.nodes = {name: arg for name, arg in args.nodes.items() if name in handed.keywords}
    return handed


def _name_of(expression: cst.CSTNode) -> str:
    """The name of a registry, if it is written like one: as a constant, or with the word in it."""
    name = last_name(expression)
    return name if name.isupper() or "regist" in name.lower() else ""


def _choice(frame: Frame, table: cst.CSTNode, name: str) -> Value:
    project, home = frame.engine.project, _home(frame, frame.module, table)
    key = (_registered, name, home)
    found = project.notes.cached(key, partial(_registered, project, name, home))
    options = [frame.engine.settle(each) for each in found if _is_in(frame, each.path, name, home)]
    return join_all(options) if options and all(each.kind is Kind.CLASS for each in options) else UNKNOWN


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
    """Whether a registry's name means this one in a file, as far as the file binds the name."""
    module = frame.engine.project.module(path)
    if module is None or home is None:
        return False
    frame.engine.load(module)
    return name not in frame.engine.global_names(module) or _home(frame, module, cst.Name(name)) == home


def _registered(project: Project, name: str, home: Path | None) -> tuple[ProjectName, ...]:
    """The classes that are registered under a name of a registry or table; none if they are too many."""
    found = _decorated(project, name, rb"%b\.(?:\w*register\w*)" % name.encode())
    for function in () if found or home is None else _functions_that_fill(project.code(home), name):
        found += _decorated(project, function, function.encode())
    return tuple(found) if len(found) <= MAX_OPTIONS else ()


def _functions_that_fill(code: bytes, table: str) -> list[str]:
    """Functions at the top of a file that assign entries of a table."""
    assigned = re.compile(rb"(?m)^[ \t]+%b\[[^\]\n]+\][ \t]*=[^=]" % table.encode())
    blocks = re.split(rb"(?m)^(?=[^\s)])", code) if assigned.search(code) else []
    named = ((block, re.match(rb"def[ \t]+(\w+)", block)) for block in blocks)
    return [name[1].decode() for block, name in named if name is not None and assigned.search(block)]


def _decorated(project: Project, word: str, decorator: bytes) -> list[ProjectName]:
    """The classes with a decorator at the top of a file that programs import; none if functions have it as well."""
    wanted = re.compile(rb"(?m)^@(?:\w+\.)*" + decorator + _TO_NAME)
    found: dict[tuple[Path, bytes], bytes] = {}
    for path in filter(lambda path: project.mentions(path, word), linted_and_imported(project)):
        found |= {(path, match[2]): match[1] for match in wanted.finditer(project.code(path))}
    if b"def" in found.values():
        return []
    return [ProjectName(path, each.decode()) for path, each in sorted(found)]
