"""Functions that the code of a project runs from one place only: whichever rank gets there first runs their body.

For example:

    @lru_cache
    def total(): …                 it keeps its result, so that a second call runs nothing

    if rank == 0:
        print(total())             one place: the first call of all
    def show(): print(total())     one place, if `show` is named in one place only, or nowhere: a library calls it
    total(); print(total())        two places: the first one may have run it on all ranks
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import libcst as cst

from trl_lint.analysis.program.project.notes import noted_of_linted
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import ancestors, innermost, of_class

# Nodes that have a name in them without using what it stands for.
_NAMING = (cst.AsName, cst.FunctionDef, cst.ImportAlias, cst.Param)


@noted_of_linted
def is_run_from_one_place(project: Project, name: str) -> bool:
    """Whether the functions of this name are used in one place at most, and so is each function around that place."""
    within: set[str] = set()
    while name not in within and not name.startswith("__"):
        within.add(name)
        uses = list(islice(_uses(project, name), 2))
        if len(uses) > 1:
            return False
        around = innermost(uses[0][0].tree, uses[0][1], cst.FunctionDef) if uses else None
        if around is None:
            return True
        name = around.name.value
    return False


def _uses(project: Project, name: str) -> Iterator[tuple[Module, cst.Name]]:
    for path, _ in project.linted_code(name):
        module = project.module(path)
        if module is not None:
            names = (each for each in of_class(module.tree, cst.Name) if each.value == name)
            yield from ((module, each) for each in names if not isinstance(ancestors(module.tree, each)[-1], _NAMING))
