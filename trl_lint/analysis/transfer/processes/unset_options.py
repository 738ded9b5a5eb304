"""Conditions that let all ranks in unless an option is given that is off by default.

For example:

    parser.add_argument("--spawned", action="store_true")
    if not args.spawned or args.rank == 0: save(model)      all ranks, where no launch gives `--spawned`
    args.spawned = args.world_size > 1                      not known: the file sets it
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.idioms.option_defaults import is_off
from trl_lint.analysis.program.idioms.path_conditions import alternatives, branch_of, exits_in
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import of_class
from trl_lint.domain.control import Control, Uniformity
from trl_lint.domain.sync_points import place_of


def part_without_option(condition: Control) -> tuple[str, str]:
    """The code of the part of a condition that holds without an option, and the option; both "" if there is none."""
    test = place_of(condition)
    if condition.uniformity is Uniformity.UNIFORM or not isinstance(test, cst.BooleanOperation):
        return "", ""
    module: Module = condition.provenance.module
    branch = branch_of(module.tree, test)
    if branch is None or exits_in(branch):
        return "", ""
    for each in alternatives(test):
        match each:
            case cst.UnaryOperation(operator=cst.Not(), expression=cst.Attribute(attr=cst.Name(name)) as option):
                if is_off(module, option) and not _is_set(module, name):
                    return module.tree.code_for_node(each), name
    return "", ""


def _is_set(module: Module, option: str) -> bool:
    """Whether a file sets an option itself, by an assignment or by its name: `parser.set_defaults(spawned=True)`."""
    targets = (target.target for each in of_class(module.tree, cst.Assign) for target in each.targets)
    keywords = (each.keyword.value for each in of_class(module.tree, cst.Arg) if each.keyword is not None)
    texts = (each.raw_value for each in of_class(module.tree, cst.SimpleString))
    assigned = (each.attr.value for each in targets if isinstance(each, cst.Attribute))
    return option in {*assigned, *keywords, *texts}
