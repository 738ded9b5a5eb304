"""Code behind an option of the command line that no parser of the project has: the option always has the default that
is written where it is read.

For example:

    args = parser.parse_args()
    if vars(args).get("wipe", False):       nothing else in the project says `wipe`: not run
        shutil.rmtree(folder)
    if getattr(args, "wipe", True):         run
    if args.wipe:                           an error on all processes, or a parser that is not understood
"""

from __future__ import annotations

import re

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import alternatives, ifs_around, parts_of
from trl_lint.analysis.program.project.import_lines import linted_and_imported
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.project.source_text import count_of
from trl_lint.analysis.program.syntax import assignments, definitions_around, last_name
from trl_lint.linter.execution.linted_programs import lints_program

_PARSES = b"parse_args"
# Code that may give the result of a parser attributes that the text does not name.
_ADDS_ANY = re.compile(
    rb"\bset_defaults\(\s*\*\*|\bsetattr\(|\bnamespace\s*="
    rb"|(?:\bvars\([^()]*\)|\b__dict__)\s*(?:\.update\(|(?:\[[^\[\]]*\]\s*)?=(?!=))"
)
_FALSE = frozenset({"False", "None"})


def is_behind_undeclared_option(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is in a branch taken only with an option that nothing in the linted files declares or sets."""
    if not module.mentions(_PARSES):
        return False
    tests = (part for branch, holds in ifs_around(module.tree, node) if holds for part in parts_of(branch.test))
    return any(
        all(_is_never_given(project, module, node, each) for each in alternatives(test)) for test in tests
    ) and lints_program(project)


def _is_never_given(project: Project, module: Module, node: cst.CSTNode, test: cst.CSTNode) -> bool:
    owner, option = _read_with_default(test)
    if not option or not _is_parsed(module, node, owner):
        return False
    codes = [project.code(path) for path in linted_and_imported(project)]
    others = (option.replace("_", "-"), option.replace("-", "_"))
    said = sum(count_of(word, code) for word in {option, *others} for code in codes)
    return said == 1 and not any(_ADDS_ANY.search(code) for code in codes)


def _read_with_default(test: cst.CSTNode) -> tuple[str, str]:
    """The name and the option in `getattr(args, "wipe", False)`, `vars(args).get("wipe")`; "" for other tests."""
    match test:
        case cst.Call(
            func=cst.Name("getattr"),
            args=[cst.Arg(cst.Name(owner)), cst.Arg(cst.SimpleString() as text), cst.Arg(cst.Name(default))],
        ) if default in _FALSE:
            return owner, str(text.evaluated_value)
        case cst.Call(
            func=cst.Attribute(value=cst.Call(cst.Name("vars"), [cst.Arg(cst.Name(owner))]), attr=cst.Name("get")),
            args=[cst.Arg(cst.SimpleString() as text), *others],
        ) if all(isinstance(each.value, cst.Name) and each.value.value in _FALSE for each in others):
            return owner, str(text.evaluated_value)
    return "", ""


def _is_parsed(module: Module, node: cst.CSTNode, name: str) -> bool:
    """Whether all that a function, or else its module, assigns to a name is what a parser returns."""
    for around in (*reversed(definitions_around(module.tree, node)), module.tree):
        values = [
            value for target, value in assignments(around) if isinstance(target, cst.Name) and target.value == name
        ]
        if values:
            return all(isinstance(each, cst.Call) and last_name(each.func) == _PARSES.decode() for each in values)
    return False
