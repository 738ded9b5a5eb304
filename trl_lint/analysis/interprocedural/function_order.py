"""In which order the functions of a module are run that nothing in sight has called yet: callers before what they call.

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
from trl_lint.knowledge.process_starts import START_GROUP

# By their own names.
_STARTS = frozenset(name.rpartition(".")[2] for name in START_GROUP)


def callers_first(functions: Sequence[FunctionInfo]) -> list[FunctionInfo]:
    """The functions that no other one names before those that some do: how these are called, their callers say.

    What starts the processes stays before those that ask whether they are there, as of these that is then known.
    """
    inside = {each: names_in(each.node) for each in functions}
    naming = Counter(name for each, names in inside.items() for name in names - {each.name})
    return sorted(functions, key=lambda each: naming[each.name] > 0 and _STARTS.isdisjoint(inside[each]))


def makers(module: Module, classes: Sequence[ClassInfo]) -> list[FunctionInfo]:
    """The functions that nothing in sight has called yet, no class calls either, and that make objects of classes."""
    waiting = [function for function in module.functions if not function.reached]
    if not waiting or not classes:
        return []
    # What a context manager does at its start and at its end belongs together, and is looked at one by one.
    made = {cls.name for cls in classes if "__enter__" not in cls.methods}
    found = [each for each in waiting if not made.isdisjoint(names_in(each.node))]
    if not found:
        return []
    used = {name for cls in module.classes for name in names_in(cls.node)}
    used |= {name for function in waiting for name in names_in(function.node) if name != function.name}
    return [each for each in found if each.name not in used]
