"""Methods that are given what they log to, of a project's own class, and that no linted file names: nobody calls them.

    class Scores:                                          scores.py
        def accuracy(self): …
        def log(self, writer, step):                       came along when the class was copied, and is called nowhere
            writer.add_scalar("accuracy", self.accuracy(), step)
    print(Scores().accuracy())                             train.py

Nothing is known of the objects that such a method would log: they may be of one rank, or merged over all of them.
A file that calls it imports the class's file, or is imported by one that does. A class that others inherit from may be
called by their libraries, and those of a package that is installed by the code of its users.
"""

from __future__ import annotations

import re
from itertools import pairwise

import libcst as cst

from trl_lint.analysis.program.project.import_lines import linted_and_imported
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.project.source_text import count_of
from trl_lint.analysis.program.syntax import definitions_around, holder_name, of_class
from trl_lint.launch.judge.engines import is_program
from trl_lint.linter.execution.not_run.installed_packages import may_be_installed

_OWN = frozenset({"object", "builtins.object"})
# Code that makes up the name of what it calls: `getattr(scores, f"log_{kind}")`.
_MAKES_NAMES_UP = re.compile(rb"\bgetattr\(\s*[^,()]+,(?!\s*[\"']\w*[\"'])|\b(?:methodcaller|getmembers)\(|\bdir\(")
_IS_BASE = rb"\bclass[ \t]+\w+[ \t]*\([^()]*(?<!\w)%b\b"


def is_unnamed(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node calls a parameter of such a method, the class is used elsewhere, and there is a program."""
    found = _method_around(module, node)
    if found is None or count_of(found[1], module.code) > 1 or may_be_installed(project, module):
        return False
    cls, name = found
    others = [path for path in linted_and_imported(project) if path != module.path]
    if any(count_of(name, project.code(path)) for path in others if project.mentions(path, name)):
        return False
    users = [code for path in others if project.mentions(path, cls) and count_of(cls, code := project.code(path))]
    is_base = re.compile(_IS_BASE % re.escape(cls).encode())
    if any(each.search(code) for code in (module.code, *users) for each in (is_base, _MAKES_NAMES_UP)):
        return False
    return bool(users) and any(is_program(project.text(path)) for path in others)


def _method_around(module: Module, node: cst.CSTNode) -> tuple[str, str] | None:
    """The names of the class and of the method around a call. A decorator may register what it decorates."""
    own = {id(each.node) for each in module.classes if _OWN.issuperset(each.bases)}
    called = {holder_name(each.func) for each in of_class(node, cst.Call) if isinstance(each.func, cst.Attribute)}
    for outer, inner in pairwise(definitions_around(module.tree, node)):
        if id(outer) not in own or not isinstance(inner, cst.FunctionDef) or outer.decorators or inner.decorators:
            continue
        name, given = inner.name.value, [each.name.value for each in inner.params.params[1:]]
        if not called.isdisjoint(given) and not name.startswith("__"):
            return outer.name.value, name
    return None
