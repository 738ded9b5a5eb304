"""The order in which functions of a module run that no known code has called yet: callers before callees.

For example:

    def save(rows):                   second, as `main` calls it: on one process, with its rows
        open("rows.txt", "w")
    def main(rows):                   first
        if is_main_process:
            save(rows)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import names_in
from trl_lint.knowledge.process_starts import STARTS_OF_GROUP

# Without their module.


def callers_first(functions: Sequence[FunctionInfo]) -> list[FunctionInfo]:
    """The functions, with those that no other one names first: the callers of the rest say how these are called.

    A function that starts the processes comes before those that test whether they have been started.
    """
    inside = {each: names_in(each.node) for each in functions}
    naming = Counter(name for each, names in inside.items() for name in names - {each.name})
    return sorted(functions, key=lambda each: naming[each.name] > 0 and STARTS_OF_GROUP.isdisjoint(inside[each]))


def creators_first(module: Module, classes: Sequence[ClassInfo]) -> list[FunctionInfo]:
    """The functions that no known code has called yet, that no class calls, and that create objects of classes."""
    waiting = [function for function in module.functions if not function.reached]
    if not waiting or not classes:
        return []
    # The two methods of a context manager belong together, and are analysed one by one.
    names = {cls.name for cls in classes if "__enter__" not in cls.methods}
    found = [each for each in waiting if not names.isdisjoint(names_in(each.node))]
    if not found:
        return []
    used = {name for cls in module.classes for name in names_in(cls.node)}
    used |= {name for function in waiting for name in names_in(function.node) if name != function.name}
    return [each for each in found if each.name not in used]
