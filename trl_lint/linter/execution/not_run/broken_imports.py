"""Files that can't be imported from where they are: an import at the top has no target in the project.

For example:

    src/own/trainer.py    from ..data_utils import pad      copied from trl/trainer: src/data_utils.py does not exist,
                          from .losses import dpo           or src/own/losses.py exists and binds no such name
    scripts/evaluate.py   from own.train.old import Args    own/train/ is a folder of the project, and old.py has moved
    pretrain.py           import model.old as model         model/ is a folder beside it, from which others import
    codec/train.py        from utils.utils import Logger    copied from a code base with utils/utils.py: here is none
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import libcst as cst

from trl_lint.analysis.program.project.import_lines import imported_files
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.knowledge.heuristics import MADE_IN_BUILDS
from trl_lint.linter.execution.not_run.bound_names import may_bind

# What is appended to the search path comes after the program's own folder.
_CHANGES_PATH = rb"\bsys\.path\b(?!\.append\()"
_SEARCH_PATH = re.compile(rb"\bsys\.path\b")


def cannot_be_imported(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether the node's file has such an import; imports inside `try` or under a condition do not count."""
    return module.notes.cached(cannot_be_imported, lambda: _lacks_import(project, module))


def _lacks_import(project: Project, module: Module) -> bool:
    if not os.path.isfile(module.path):
        return False
    targets = (target for statement in _at_top(module) for target in _targets(project, module, statement))
    return not all(_is_there(project, path) and _binds(project, path, names) for path, names in targets)


def _at_top(module: Module) -> Iterator[cst.Import | cst.ImportFrom]:
    """The statements at the top of a file that import something."""
    for line in module.tree.body:
        for statement in line.body if isinstance(line, cst.SimpleStatementLine) else ():
            if isinstance(statement, (cst.Import, cst.ImportFrom)):
                yield statement


def _targets(
    project: Project, module: Module, statement: cst.Import | cst.ImportFrom
) -> Iterator[tuple[Path, list[str]]]:
    """What a statement imports from the project: the modules, as paths without suffix, and the names from each."""
    if isinstance(statement, cst.Import):
        named = [(module.tree.code_for_node(alias.name), 0, list[str]()) for alias in statement.names]
        named = [each for each in named if "." in each[0]]
    elif statement.module is None:
        return
    else:
        aliases = () if isinstance(statement.names, cst.ImportStar) else statement.names
        names = [alias.evaluated_name for alias in aliases]
        named = [(module.tree.code_for_node(statement.module), len(statement.relative), names)]
    for name, dots, names in named:
        parts = name.split(".")
        for folder in _folders(project, module, dots, parts):
            yield Path(folder, *parts), names


def _folders(project: Project, module: Module, dots: int, parts: Sequence[str]) -> Iterator[Path]:
    """The folder in which an import looks for its module: for dots, the one that they name.

    Otherwise that of the project's package of this name, or of its module in a folder around the file; a module of a
    single name that lies elsewhere may be another one on the search path.
    """
    if dots:
        yield from module.path.parents[dots - 1 : dots]
        return
    first, found = (project.find(name, module) for name in (parts[0], ".".join(parts)))
    if first is None:
        if found is None and len(parts) > 1:
            yield from _plain_folders(project, module, parts[0])
            yield from _folder_of_missing(project, module, parts)
        return
    is_folder = first.name == "__init__.py"
    if is_folder and first.parent.name != parts[0]:
        return  # the package around the file, whose folder has another name
    folder = first.parent.parent if is_folder else first.parent
    is_package = len(parts) > 1 and is_folder
    changes_path = _CHANGES_PATH if folder == module.path.parent else rb"\bsys\.path\b"
    is_around = module.path.is_relative_to(folder) and not module.mentions(changes_path)
    if (is_package or is_around) and (found is None or found.is_relative_to(folder)):
        yield folder


def _plain_folders(project: Project, module: Module, name: str) -> Iterator[Path]:
    """The folder around a file with one of this name, if neither is a package and linted files import what is in it.

    A library of this name would come first. Those that import the name itself, or what is not there, mean a library.
    """
    folder = next((each for each in module.path.parents if os.path.isdir(each / name)), None)
    if folder is None or module.mentions(rb"\bsys\.path\b"):
        return
    if any(project.has_file(each / "__init__.py") for each in (folder, folder / name)):
        return
    word = re.escape(name).encode()
    below = re.compile(rb"(?m)^[ \t]*(?:from|import)[ \t]+%b\.(\w+)" % word)
    itself = re.compile(
        rb"(?m)^[ \t]*(?:import[ \t]+%b(?![.\w])|from[ \t]+%b[ \t]+import[ \t]+\(?\s*(\w+))" % (word, word)
    )
    codes = [code for path, code in project.linted_code(name) if path.is_relative_to(folder)]
    if any(not each or not _is_there(project, folder / name / each.decode()) for each in _found(itself, codes)):
        return
    if any(project.has_file(folder / name / f"{each.decode()}.py") for each in _found(below, codes)):
        yield folder


def _folder_of_missing(project: Project, module: Module, parts: Sequence[str]) -> Iterator[Path]:
    """The folder of a file that imports a module of its project's own, if that is in no folder of the project.

    It may be in a submodule that is not checked out, or where a file that is imported before adds to the search path.
    """
    if ".".join(parts) not in module.engines().missing or _changes_search_path(project, module):
        return
    around = module.path.parents
    has_submodules = any(project.holds(each, ".gitmodules") for each in around)
    if not has_submodules and not any(os.path.isdir(each / parts[0]) for each in around):
        yield module.path.parent


def _changes_search_path(project: Project, module: Module) -> bool:
    """Whether a file, or one that it imports, adds folders to the search path: `import _init_paths`."""
    imported = imported_files(project, module.path, project.text(module.path))
    return any(_SEARCH_PATH.search(project.code(each)) for each in (module.path, *imported))


def _found(wanted: re.Pattern[bytes], codes: Iterable[bytes]) -> Iterator[bytes]:
    return (each for code in codes for each in wanted.findall(code))


def _binds(project: Project, path: Path, names: list[str]) -> bool:
    """Whether a module may bind these names: it does, a submodule has the name, or it can't be determined."""
    # A package takes precedence over a module of the same name.
    file = path / "__init__.py" if os.path.isdir(path) else path.with_suffix(".py")
    module = project.module(file) if project.has_file(file) else None
    sought = [name for name in names if not _is_there(project, path / name)]
    return module is None or may_bind(project, module, sought)


def _is_there(project: Project, path: Path) -> bool:
    """Whether a module exists, in whatever form."""
    if any(MADE_IN_BUILDS.fits(part) for part in path.parts[-2:]) or project.has_file(path.with_suffix(".py")):
        return True
    if project.has_file(path) or os.path.isdir(path):
        return True
    return os.path.isdir(path.parent) and any(name.startswith(f"{path.name}.") for name in os.listdir(path.parent))
