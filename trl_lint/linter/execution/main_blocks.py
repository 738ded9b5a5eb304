"""What a file runs as a program only, and as one process: other programs, with several, import other things from it.

For example:

    test.py     def evaluate(model): open("scores.txt", "w")        train.py runs this, too
                def main(): open("table.txt", "w")                  only test.py does, as one process
                if __name__ == "__main__": main()
    train.py    from test import evaluate
    run.sh      torchrun --nproc_per_node 8 train.py
                torchrun --nproc_per_node 1 test.py
"""

from __future__ import annotations

import re
from pathlib import Path

import libcst as cst

from trl_lint.analysis.program.project.import_lines import import_lines, imported_files
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import ancestors, definitions_around, inwards, is_main_guard, of_class

# How many calls lead from the block to the code.
_DEEPEST = 3


def is_of_lone_program(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is run by a program alone that is its own file, each known start of which is one process."""
    return module.engines().main_one_process and _is_of_main(project, module, node, _DEEPEST)


def _is_of_main(project: Project, module: Module, node: cst.CSTNode, depth: int) -> bool:
    """Whether a node is under `if __name__ == "__main__":`, or in a function that is only named there."""
    match definitions_around(module.tree, node):
        case []:
            return any(
                isinstance(outer, cst.If) and is_main_guard(outer.test) and inner is outer.body
                for outer, inner in inwards(module.tree, node)
            )
        case [cst.FunctionDef(name=cst.Name(name)) as function] if depth and not function.decorators:
            uses = [each for each in of_class(module.tree, cst.Name) if each.value == name]
            others = [each for each in uses if ancestors(module.tree, each)[-1] is not function]
            named = all(_is_of_main(project, module, each, depth - 1) for each in others)
            return bool(others) and named and not _is_taken(project, module, name)
    return False


def _is_taken(project: Project, module: Module, name: str) -> bool:
    """Whether another linted file may take a function from a module: `from test import main`, `test.main`."""
    field = re.compile(rb"\b%b\.%b\b" % (module.path.stem.encode(), name.encode()))
    files = ((path, code) for path, code in project.linted_code(name) if path != module.path)
    return any(field.search(code) or _imports(project, path, code, module.path, name) for path, code in files)


def _imports(project: Project, path: Path, code: bytes, source: Path, name: str) -> bool:
    is_named = any(name in names or "*" in names for _, names in import_lines(code))
    return is_named and source in imported_files(project, path, code)
