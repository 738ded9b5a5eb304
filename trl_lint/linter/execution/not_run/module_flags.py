"""Code that a flag of its module switches off: it does not run as shipped, until somebody sets the flag.

For example:

    do_log = False                                      at the top of the module, and bound nowhere else
    def step(model, batch):
        if not do_log:
            return model(**batch)
        wandb.log(measured(model))                      not run
"""

from __future__ import annotations

import re

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import conditions_at
from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import of_class
from trl_lint.fixes.support.scope import bound_targets, is_before

_FLAGS = {"False": False, "True": True}
# Code that can bind names that do not appear in the text: a settings file that is executed in the module.
_BINDS_ANY = rb"\bexec\(|\bglobals\(|\bvars\(\s*\)"


def is_switched_off(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is reached only if a flag of the module has a value that it never has."""
    flags = _flags(module)
    if not flags or module.mentions(_BINDS_ANY):
        return False
    return any(
        isinstance(asked, cst.Name)
        and flags.get(asked.value, holds) is not holds
        and _is_constant(project, module, asked.value)
        for asked, holds in conditions_at(module.tree, node)
    )


@noted
def _flags(module: Module) -> dict[str, bool]:
    """The names assigned True or False at the top level of a module, with the last such value."""
    lines = (line for line in module.tree.body if isinstance(line, cst.SimpleStatementLine))
    return {
        name: _FLAGS[value.value]
        for line in lines
        for statement in line.body
        if isinstance(statement, (cst.AnnAssign, cst.Assign))
        and isinstance(value := statement.value, cst.Name)
        and value.value in _FLAGS
        for name in _names(statement)
    }


def _names(statement: cst.AnnAssign | cst.Assign) -> list[str]:
    """The names that a statement assigns its whole value to."""
    targets = (
        [statement.target] if isinstance(statement, cst.AnnAssign) else [each.target for each in statement.targets]
    )
    return [target.value for target in targets if isinstance(target, cst.Name)]


def _is_constant(project: Project, module: Module, name: str) -> bool:
    """Whether nothing else appears to bind a name of a module, neither there nor from another file."""
    tree = module.tree
    bound = [each for each in bound_targets(tree) if isinstance(each, cst.Name) and each.value == name]
    if len(bound) != 1 or any(is_before(tree, bound[0], star) for star in of_class(tree, cst.ImportStar)):
        return False
    return not _may_be_set_elsewhere(project, name)


def _may_be_set_elsewhere(project: Project, name: str) -> bool:
    """Whether a file may set a name of another module: as an attribute, or by its name in a string."""
    spelled = re.escape(name).encode()
    is_set = re.compile(rb"""(?<!\bself)(?<!\bcls)\.%b\s*=(?!=)|["']%b["']""" % (spelled, spelled))
    return any(is_set.search(code) for _, code in project.linted_code(name))
