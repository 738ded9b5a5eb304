"""Programs whose settings are missing: hydra stops them before their first line, unless a command names other settings.

For example, of a file that no other one imports, and that no command in sight starts:

    @hydra.main(config_path="./config", config_name="config")
    def main(cfg): …

    config/train.yaml         settings of another program, and no config/config.yaml: not run
    config/config.yaml        run, as with config/config.example.yaml, of which users make it
"""

from __future__ import annotations

import os
from pathlib import Path

import libcst as cst

from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import last_name
from trl_lint.linter.execution.project_files import content_of

# Source: hydra-core 1.3.2, hydra/main.py `main`, hydra/_internal/config_loader_impl.py `_load_configuration_impl`
_ENTRY, _FOLDER, _NAME = rb"\bhydra\.main\(", "config_path", "config_name"
_SUFFIX = ".yaml"
# Code that registers settings, or changes what the command says.
_GIVES_OTHERS = rb"\bConfigStore\b|\bsys\.argv\b"


def lacks_settings(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether the node's file is such a program."""
    if not module.mentions(_ENTRY):
        return False
    return module.notes.cached(lacks_settings, lambda: _lacks_settings(project, module))


def _lacks_settings(project: Project, module: Module) -> bool:
    engines = module.engines()
    if engines.imported or engines.started or engines.launched or project.mentions_anywhere(_GIVES_OTHERS):
        return False
    named = [each for line in module.tree.body for each in _settings_of(line)]
    return bool(named) and all(_are_missing(module.path.parent / folder, name, engines.home) for folder, name in named)


def _settings_of(line: cst.CSTNode) -> list[tuple[str, str]]:
    """The folder and the name of the settings of a function that hydra calls."""
    decorators = line.decorators if isinstance(line, cst.FunctionDef) else ()
    calls = (each.decorator for each in decorators if isinstance(each.decorator, cst.Call))
    given = [
        {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
        for call in calls
        if last_name(call.func) == "main"
    ]
    return [
        (str(folder.evaluated_value), str(name.evaluated_value))
        for each in given
        if isinstance(folder := each.get(_FOLDER), cst.SimpleString)
        and isinstance(name := each.get(_NAME), cst.SimpleString)
    ]


def _are_missing(folder: Path, name: str, home: str) -> bool:
    """Whether a folder has settings, but none that begin with this name, and that the project leaves to its users."""
    if not os.path.isdir(folder):
        return False
    names = os.listdir(folder)
    stem = name.removesuffix(_SUFFIX)
    if "/" in stem or not any(each.endswith(_SUFFIX) for each in names):
        return False
    ignored = content_of(Path(home, ".gitignore")) if home else None
    return not any(stem in each for each in names) and stem.encode() not in (ignored or b"")
