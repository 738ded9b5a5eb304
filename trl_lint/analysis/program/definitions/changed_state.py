"""Names and attributes that other code of a file assigns or changes, found by its text.

For example:

    def start():
        global _tracker                       is_declared_global: `_tracker`
        _tracker = wandb
    self.env["MASTER_PORT"] = "1"             is_changed: the class variable `env`
    Run.started = True                        is_set_on_class: `started` of `Run`
    trainer.writer = writer                   is_set_outside_class: `writer`
    self.start()                              uses_of_method: one of `start`
    class Other: … self.start()               uses_of_method_of: none, if `Other` has a `start` of its own

Their values depend on when they are read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import libcst as cst

from trl_lint.analysis.program.project.classes import ClassInfo
from trl_lint.analysis.program.project.notes import noted_of_linted
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.project.source_text import code_of
from trl_lint.analysis.program.syntax import of_class

_GLOBAL = rb"(?m)^\s+global\s"
_ASSIGNED = rb"\s*(?:[-+*/|&]|//)?=[^=]"
_ANNOTATED = rb"\s*(?::[^=\n]+)?=[^=]"
_OTHER_OBJECT = rb"(?!self\b)[\w.]+"
_CHANGED = rb"\.(?:add|append|clear|extend|insert|pop|popitem|remove|setdefault|update)\("


def is_declared_global(module: Module, name: str) -> bool:
    """Whether a function of a module declares a name as `global`."""
    # Most modules declare none, so that they are searched once and not once per name.
    return module.mentions(_GLOBAL) and module.mentions(_GLOBAL + rb"[^\n]*\b" + name.encode() + rb"\b", name)


def is_changed(module: Module, name: str) -> bool:
    """Whether a class variable of this name, or its contents, may be others when a method reads it."""
    return module.mentions(rb"\.%b(?:%b|(?:\[[^\]\n]*\])?%b)" % (re.escape(name.encode()), _CHANGED, _ASSIGNED), name)


def is_set_on_class(module: Module, cls: str, name: str) -> bool:
    """Whether code of a file assigns another value to a class variable."""
    return module.mentions(rb"(?m)^\s*(?:cls|%b)\.%b%b" % (cls.encode(), name.encode(), _ASSIGNED), name)


def is_set_outside_class(module: Module, name: str) -> bool:
    """Whether code of a file assigns an attribute of this name to another object than `self`."""
    return _times_set_outside(module.code, name) > 0 or module.mentions(_by_text(name), name)


@noted_of_linted
def is_set_outside_any_class(project: Project, name: str) -> bool:
    """Whether code of the project does so anywhere."""
    by_text = re.compile(_by_text(name))
    return any(_times_set_outside(code, name) or by_text.search(code) for _, code in project.linted_code(name))


@noted_of_linted
def has_heirs(project: Project, cls: str) -> bool:
    """Whether a class of the project has a base of this name."""
    heads = re.compile(rb"\bclass\s+\w+\s*\([^)]*\b%b\b" % cls.encode())
    return any(heads.search(code) for _, code in project.linted_code(cls))


@noted_of_linted
def is_set_on_other_object(project: Project, name: str) -> bool:
    """Whether code of the project sets an attribute of this name of anything but `self`: `self.hook.active = False`."""
    # What is looked for first is a plain text, which the search engine finds in a fraction of the time.
    pattern = re.compile(rb"\.%b(?<!\bself\.%b)%b" % (name.encode(), name.encode(), _ASSIGNED))
    return any(pattern.search(code) for _, code in project.linted_code(name))


@noted_of_linted
def is_set_once_outside_class(project: Project, name: str) -> bool:
    """Whether code of the project does so in one place."""
    files = [code for _, code in project.linted_code(name)]
    is_by_text = any(re.search(_by_text(name), each) for each in files)
    return not is_by_text and sum(_times_set_outside(each, name) for each in files) == 1


@noted_of_linted
def uses_of_method(project: Project, name: str) -> int:
    """How often code of the project reads an attribute of this name, or has the name as a text."""
    wanted = re.compile(rb"\.%b\b|[\"']%b[\"']" % (name.encode(), name.encode()))
    return sum(len(wanted.findall(code)) for _, code in project.linted_code(name))


def uses_of_method_of(project: Project, classes: Sequence[ClassInfo], name: str) -> int:
    """The same for a method of some classes: without `self.name` in other classes that have a method of this name."""
    uses = uses_of_method(project, name)
    mine = frozenset((each.module.path, each.name) for each in classes)
    return uses - _uses_of_namesakes(project, name, mine) if uses > 1 else uses


def _uses_of_namesakes(project: Project, name: str, mine: frozenset[tuple[Path, str]]) -> int:
    return sum(count for place, count in _uses_on_self(project, name) if place not in mine)


@noted_of_linted
def _uses_on_self(project: Project, name: str) -> Sequence[tuple[tuple[Path, str], int]]:
    """How often each class with a method of this name reads it of `self`, by the file and the name of the class."""
    wanted = re.compile(rb"\bself\.%b\b" % name.encode())
    files = ((path, project.module(path)) for path, _ in project.linted_code(name))
    return tuple(
        ((path, cls.name.value), len(wanted.findall(code_of(module.tree.code_for_node(cls).encode()))))
        for path, module in files
        if module is not None
        for cls in of_class(module.tree, cst.ClassDef)
        if any(_defines(each, name) for each in cls.body.body)
    )


def _defines(statement: cst.CSTNode, name: str) -> bool:
    return isinstance(statement, cst.FunctionDef) and statement.name.value == name


def is_set_only_in(project: Project, classes: Sequence[ClassInfo], name: str) -> bool:
    """Whether no file that names one of some classes sets an attribute of this name outside of their code."""
    wanted = re.compile(rb"\.%b%b" % (name.encode(), _ANNOTATED))
    inside = sum(len(wanted.findall(code_of(each.module.tree.code_for_node(each.node).encode()))) for each in classes)
    files = {path: code for each in classes for path, code in project.linted_code(each.name)}
    files.update((each.module.path, each.module.code) for each in classes)  # which may be no linted file
    return sum(len(wanted.findall(code)) for code in files.values()) == inside


def _times_set_outside(code: bytes, name: str) -> int:
    """How many lines assign an attribute of this name to another object: the assignments are found first."""
    assigned = re.finditer(rb"\.%b%b" % (name.encode(), _ANNOTATED), code)
    lines = (code[code.rfind(b"\n", 0, each.start()) + 1 : each.start()].strip() for each in assigned)
    return sum(re.fullmatch(_OTHER_OBJECT, each) is not None for each in lines)


def _by_text(name: str) -> bytes:
    return rb"setattr\(\s*\w+\s*,\s*[\"']%b[\"']" % name.encode()
