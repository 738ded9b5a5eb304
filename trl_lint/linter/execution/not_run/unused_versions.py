"""Old versions of a class next to the one in use, and copies of its whole file elsewhere: nothing runs them.

For example:

    old_trainer.py       class MyTrainer(DPOTrainer): …      no longer imported,
    new_trainer.py       class MyTrainer(DPOTrainer): …      programs import this one

    model:
      target: new_model.LatentDiffusion                      and settings have this one built

    src/trainers.py      class MyTrainer(DPOTrainer): …      programs import this one,
    clean/trainers.py    the same text                       and nothing this one, in a project of its own
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import libcst as cst

from trl_lint.analysis.program.project.project import Module, Project
from trl_lint.analysis.program.syntax import definitions_around
from trl_lint.launch.judge.engines import is_program


def is_unused_version(project: Project, module: Module, node: cst.CSTNode) -> bool:
    """Whether a node is in a class for which another version of its file is imported instead.

    That version has a class of the same name; the node's own file is neither imported nor a program.
    """
    around = definitions_around(module.tree, node)
    top = next((each for each in around if isinstance(each, cst.ClassDef)), None)
    if top is None or is_program(module.source or b""):
        return False
    beside = _versions_beside(project, module.path) | _copies(project, module)
    if not beside or module.engines().imported:
        return False
    named = b"%b.%b" % (module.path.stem.encode(), top.name.value.encode())  # in a table of programs, as text
    if any(named in code for _, code in project.linted_code(module.path.stem)):
        return False
    defines = re.compile(rb"^class +%b\b" % top.name.value.encode(), re.MULTILINE)
    return any(defines.search(project.text(path)) and project.engines_for(path).imported for path in beside)


def _versions_beside(project: Project, path: Path) -> set[Path]:
    """The files in the folder of a file that share a word of their names with it: `ppo.py` is none of `grpo.py`."""
    by_word = project.of_linted(_by_word, lambda: _by_word(project.linted))
    return {each for word in _words(path) for each in by_word[word]} - {path}


def _copies(project: Project, module: Module) -> set[Path]:
    """The files with the name and the text of a file in other folders."""
    same = (each for each in project.linted if each.name == module.path.name and each != module.path)
    return {each for each in same if project.text(each) == module.source}


def _by_word(paths: Iterable[Path]) -> dict[tuple[Path, str], list[Path]]:
    found: dict[tuple[Path, str], list[Path]] = defaultdict(list)
    for path in paths:
        for word in _words(path):
            found[word].append(path)
    return found


def _words(path: Path) -> set[tuple[Path, str]]:
    """The words of a file's name, each with its folder."""
    return {(path.parent, word) for word in re.findall(r"[^\W\d_]+", path.stem)}
