"""Definitions of a library that lies in a project as a copy, which nothing outside of the copy leads to: nobody has use
for them.

For example:

    train.py                       from trl import DPOTrainer        and the project's own programs
    trl/trainer/ddpo_trainer.py    class DDPOTrainer: …              exists because the library was copied whole
    trl/trl/trainer/ddpo_trainer.py                                  the same, in a checkout of the library
    trl/extras/sampler.py          class Sampler: …                  which only the class above names
    trl/examples/scripts/ddpo.py                                     a program of the checkout that nothing else starts
    third_party/vocoder/train.py   def main(): …                     the same of any code in such a folder
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import libcst as cst

from trl_lint.analysis.program.project.import_lines import import_lines
from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.project.source_text import count_of
from trl_lint.analysis.program.syntax import definitions_around
from trl_lint.knowledge.heuristics import COPIED_LIBRARY, FOLDER_OF_COPIES
from trl_lint.launch.judge.engines import is_program

# So many names may lead to one: more are not looked through.
_MOST_NAMES = 40
_WORD = re.compile(r"\w+")
# What names a project, and how.
_METADATA = ("pyproject.toml", "setup.cfg", "setup.py")
_IMPORTS = rb"(?m)^\s*(?:from|import)\s+%b\b"
_IS_NAMED = rb"(?m)^\s*name\s*=\s*[\"']?%b\b(?!-)"
_OF_PACKAGE = rb"\b%b[./](?:\w+[./])*%b\b"
_NAMES = rb"(?m)^\s*name\s*=\s*[\"']?[\w.-]*%b"


class Copy(NamedTuple):
    """A copy of a library in a project.

    package: its folder. checkout: the folder of the whole checkout that contains it, if any; then its examples and
    tests, which name everything in it, do not count as uses. Nor do its own programs that no command starts.
    """

    package: Path
    checkout: Path | None

    def hides(self, project: Project, path: Path) -> bool:
        """Whether a mention of its classes in this file does not count as a use.

        Another copy of the library mentions its own.
        """
        if self.package in path.parents:
            if path.name == "__init__.py":
                return True
            return is_program(project.text(path)) and not _is_started(project, path, self.package)
        if self.checkout is not None and self.checkout in path.parents:
            return True
        other = _package_around(project, path)
        return other is not None and other.name == self.package.name and other not in self.package.parents


def _is_started(project: Project, program: Path, package: Path) -> bool:
    """Whether a command of the project starts a program of a copy; one that came with the copy does not count."""
    module = project.module(program)
    if module is None:
        return False
    engines, home = module.engines(), Path(module.engines().home)
    if package == home or package in home.parents:
        return any(not (package == each or package in each.parents) for each in map(Path, engines.started_from))
    return engines.started


def is_of_copied_library(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a place is in a definition of such a copy that nothing names but what hands it on, and other definitions
    of the copy of which the same is true.

    Beside the package of a whole checkout, all code that nothing outside the checkout starts is such a place. Programs
    outside the copy must exist; otherwise the library itself may be what is linted.
    """
    if (checkout := _checkout_beside(project, module)) is not None:
        return all(checkout == each or checkout in each.parents for each in map(Path, module.engines().started_from))
    copy = module.notes.cached(is_of_copied_library, lambda: _copy_around(project, module))
    top = next(iter(definitions_around(module.tree, node)), None)
    if copy is None or top is None:
        return False
    key = (is_of_copied_library, module.path, top.name.value)
    return project.notes.cached(key, lambda: not _is_in_use(project, copy, module, top.name.value))


def _is_in_use(project: Project, copy: Copy, module: Module, name: str) -> bool:
    """Whether something outside of a copy may lead to a definition in it, through others of the copy."""
    waiting, seen = [(module, name)], {name}
    while waiting:
        here, wanted = waiting.pop()
        users = _users(project, copy, here, wanted)
        if users is None or len(seen) > _MOST_NAMES:
            return True
        new = [(user, each) for user, each in users if each not in seen]
        seen |= {each for _, each in new}
        waiting += new
    return False


def _users(project: Project, copy: Copy, module: Module, name: str) -> list[tuple[Module, str]] | None:
    """The definitions of a copy that name one of it; None where something else does."""
    found: list[tuple[Module, str]] = []
    for path, code in project.linted_code(name):
        if not count_of(name, code) or (path != module.path and copy.hides(project, path)):
            continue
        if path != module.path and not _may_mean(copy, module, name, path, code):
            continue  # `main` of one program is not that of another
        user = module if path == module.path else project.module(path) if copy.package in path.parents else None
        if user is None:
            return None
        users = [each for each, words in _words(user) if name in words]
        if "" in users and not copy.hides(project, path):
            return None
        found += [(user, each) for each in users if each and (user is not module or each != name)]
    return found


def _may_mean(copy: Copy, module: Module, name: str, path: Path, code: bytes) -> bool:
    """Whether the code of another file that has the name of what a file of a copy defines may mean this.

    `main` of `main.py` is a name that any file may have: who wants it from a program imports this by its name, or
    names it as one of the package: `clap.main`, `"clap/main.py"`.
    """
    stem = module.path.stem
    if name == stem and is_program(module.source or b""):
        if any(stem in _last_parts(base, *names) for base, names in import_lines(code)):
            return True
        return re.search(_OF_PACKAGE % (copy.package.name.encode(), stem.encode()), code) is not None
    return copy.package in path.parents or any(count_of(each, code) for each in (copy.package.name, stem))


def _last_parts(*names: str) -> set[str]:
    return {each.rpartition(".")[2] for each in names}


def _words(module: Module) -> list[tuple[str, frozenset[str]]]:
    """The definitions at the top of a file, "" for other statements than imports, each with the words in its text."""
    statements = (each for each in module.tree.body if not _is_import(each))
    return module.notes.cached(
        _words,
        lambda: [(_name(each), frozenset(_WORD.findall(module.tree.code_for_node(each)))) for each in statements],
    )


def _name(statement: cst.BaseCompoundStatement | cst.SimpleStatementLine) -> str:
    return statement.name.value if isinstance(statement, (cst.ClassDef, cst.FunctionDef)) else ""


def _is_import(statement: cst.BaseCompoundStatement | cst.SimpleStatementLine) -> bool:
    """Whether a statement imports, and does nothing else."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    return all(isinstance(each, (cst.Import, cst.ImportFrom)) for each in statement.body)


def _copy_around(project: Project, module: Module) -> Copy | None:
    """The copy of a library that contains a file, if the project is another one and has its own programs."""
    folder = _package_around(project, module.path)
    if folder is None:
        return None
    if FOLDER_OF_COPIES.fits(folder.parent.name):
        return Copy(folder, None) if _has_programs_outside(project, folder.parent) else None
    checkout = next((each for each in folder.parents if _is_of(project, each, folder.name)), None)
    if checkout is None:
        is_copy = _has_programs_outside(project, folder)
    else:  # code that uses it is next to it; otherwise it is linted for itself
        is_copy = _is_used_beside(project, checkout, folder.name)
    return Copy(folder, checkout) if is_copy else None


def _package_around(project: Project, path: Path) -> Path | None:
    """The folder around a file that is called like a library, or like one of other people's code."""
    for folder in path.parents:
        if FOLDER_OF_COPIES.fits(folder.parent.name):
            return folder
        if COPIED_LIBRARY.fits(folder.name) and project.holds(folder, "__init__.py"):
            return folder
    return None


def _has_programs_outside(project: Project, folder: Path) -> bool:
    outside = (path for path in project.linted if folder not in path.parents)
    return any(is_program(project.text(path)) for path in outside)


def _checkout_beside(project: Project, module: Module) -> Path | None:
    """The checkout of a library that contains a file beside its package, in a project that uses the library."""
    if len(project.linted) < 2:  # nothing is beside it
        return None
    return module.notes.cached(
        _checkout_beside, lambda: next((each for each in module.path.parents if _holds(project, each, module)), None)
    )


def _holds(project: Project, folder: Path, module: Module) -> bool:
    """Whether a folder is the checkout of a library for the code next to it, and a file in it is not in its package."""
    if not (any(_metadata(project, folder)) and any(_beside(project, folder))):  # true of few folders
        return False
    parts = module.path.relative_to(folder).parts
    libraries = (each for each in COPIED_LIBRARY.words if each not in parts and _is_checkout_of(project, folder, each))
    return any(_is_used_beside(project, folder, each) for each in libraries)


def _is_checkout_of(project: Project, folder: Path, library: str) -> bool:
    """Whether a folder contains the package of a library, and declares itself as its project."""
    named = re.compile(_IS_NAMED % library.encode())
    packages = (folder / library, folder / "src" / library)
    is_named = any(named.search(text) for text in _metadata(project, folder))
    return is_named and any(project.holds(each, "__init__.py") for each in packages)


def _is_used_beside(project: Project, checkout: Path, library: str) -> bool:
    """Whether code outside a checkout, in a folder around it, imports the library."""
    imports = re.compile(_IMPORTS % library.encode())
    return any(imports.search(project.text(path)) for path in _beside(project, checkout))


def _beside(project: Project, checkout: Path) -> Iterator[Path]:
    """The linted files outside a checkout, in a folder around it."""
    return (path for path in project.linted if checkout not in path.parents and path.parent in checkout.parents)


def _is_of(project: Project, folder: Path, library: str) -> bool:
    """Whether a folder declares itself as a library's project, or the library is installed in it."""
    if any(re.search(_NAMES % library.encode(), text) for text in _metadata(project, folder)):
        return True
    return any(folder.glob(f"{library}-*.dist-info"))


def _metadata(project: Project, folder: Path) -> Iterator[bytes]:
    return (project.text(folder / name) for name in _METADATA if project.holds(folder, name))
