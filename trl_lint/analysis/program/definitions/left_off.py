"""Options of a class that are off by default, and that only the constructors of some classes below it turn on.

For example:

    class Step:
        def __init__(self, config=None):
            self.main_only = config.get("main_only", False)
    class Timer(Step):
        def __init__(self, config=None):
            config.setdefault("main_only", True)        on for a Timer
            super().__init__(config)
    class Logger(Step): ...                             off for a Logger, if no other code names the option
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from trl_lint.analysis.program.definitions.construction import CONSTRUCTOR
from trl_lint.analysis.program.definitions.registrations import heirs
from trl_lint.analysis.program.project.import_lines import linted_and_imported
from trl_lint.analysis.program.project.notes import noted_of_linted
from trl_lint.analysis.program.syntax import attribute_values, below, of_class

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trl_lint.analysis.program.project.classes import ClassInfo
    from trl_lint.analysis.program.project.project import Module, Project


@noted_of_linted
def is_left_off(project: Project, cls: ClassInfo, name: str) -> bool:
    """Whether an attribute of `self` is such an option, and neither the class nor one above it turns it on."""
    lineage = cls.project_lineage()
    given = [(base, value) for base in lineage for each, value in attribute_values(base.node) if each == name]
    if len(given) != 1:
        return False
    base, value = given[0]
    made = base.methods.get(CONSTRUCTOR)
    option = None if made is None else _option_read(value)
    if made is None or option is None or not any(each is value for each in below(made.node)):
        return False
    return _is_turned_on_by_others(project, cls, base, option)


def _option_read(value: cst.BaseExpression) -> str | None:
    """The `name` of `config.get("name", False)`."""
    match value:
        case cst.Call(
            func=cst.Attribute(value=cst.Name(), attr=cst.Name("get")),
            args=[cst.Arg(value=cst.SimpleString() as text), cst.Arg(value=cst.Name("False"))],
        ):
            return str(text.evaluated_value)
    return None


def _is_turned_on_by_others(project: Project, cls: ClassInfo, base: ClassInfo, option: str) -> bool:
    """Whether all code that names an option is the constructor that reads it, and those of other classes below."""
    others = {each.name for each in heirs(project, base.name)} - {each.name for each in cls.project_lineage()}
    makers = set[str]()
    for path in linted_and_imported(project):
        if not project.mentions(path, option):
            continue
        module = project.module(path)
        if module is None:
            return False
        makers.update(_makers_naming(module, option))
    return base.name in makers and len(makers) > 1 and makers <= others | {base.name}


def _makers_naming(module: Module, option: str) -> Iterator[str]:
    """The classes whose constructors name an option; "" for each place anywhere else."""
    named = {id(each) for each in below(module.tree) if _names(each, option)}
    for cls in of_class(module.tree, cst.ClassDef) if named else ():
        for method in of_class(cls.body, cst.FunctionDef):
            found = {id(each) for each in below(method)} & named if method.name.value == CONSTRUCTOR else set[int]()
            named -= found
            yield from (cls.name.value for _ in found)
    yield from ("" for _ in named)


def _names(node: cst.CSTNode, option: str) -> bool:
    """Whether code names an option: by a text, by a keyword, or by assigning an attribute."""
    match node:
        case cst.SimpleString():
            return node.raw_value == option
        case cst.Arg(keyword=cst.Name(name)):
            return name == option
        case cst.AssignTarget(target=cst.Attribute(attr=cst.Name(name))):
            return name == option
    return False
