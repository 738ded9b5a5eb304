"""Imports in a function that binds names of the module, for libraries that load slowly or may be missing.

For example:

    def load():
        global SFTTrainer
        from trl import SFTTrainer

    def load():
        from trl import SFTTrainer
        globals().update({"SFTTrainer": SFTTrainer})
"""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.project.notes import noted
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import last_name, of_class

# `global NAME`, `globals()`
_GLOBAL = rb"\bglobals?\b"


def import_of(module: Module, name: str) -> cst.Import | cst.ImportFrom | None:
    """The import inside a function of a module that binds a name of the module."""
    return _late_imports(module).get(name)


@noted
def _late_imports(module: Module) -> dict[str, cst.Import | cst.ImportFrom]:
    found: dict[str, cst.Import | cst.ImportFrom] = {}
    if not module.mentions(_GLOBAL):
        return found
    for function in of_class(module.tree, cst.FunctionDef):
        bound = {each.name.value for line in of_class(function, cst.Global) for each in line.names}
        if any(last_name(call.func) == "globals" for call in of_class(function, cst.Call)):
            bound |= {str(each.evaluated_value) for each in of_class(function, cst.SimpleString)}
        if bound:
            found |= {name: node for name, node in _imports_in(function).items() if name in bound}
    return found


def _imports_in(function: cst.FunctionDef) -> dict[str, cst.Import | cst.ImportFrom]:
    nodes: list[cst.Import | cst.ImportFrom] = [*of_class(function, cst.Import)]
    nodes += of_class(function, cst.ImportFrom)
    return {
        alias.evaluated_alias or alias.evaluated_name.partition(".")[0]: node
        for node in nodes
        if not isinstance(node.names, cst.ImportStar)
        for alias in node.names
    }
