"""The classes of a file whose objects are made by programs only that have Lightning run nothing.

    train_first.py    from models import AutoEncoder, Prior
                      Trainer(devices=2).fit(AutoEncoder())
    sample.py         from models import Prior
                      images = Prior.load_from_checkpoint("prior.ckpt").sample()

The code that trains `Prior` is not there: what it logs in its validation, nobody sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trl_lint.linter.execution.class_uses import classes_in, heirs_of, is_renamed, is_used
from trl_lint.linter.execution.lightning_code import LightningCode
from trl_lint.linter.execution.project_scan import ProjectScan


def made_elsewhere(path: Path, projects: Mapping[Path, ProjectScan], code: LightningCode) -> frozenset[str]:
    """The names of these classes. projects: the project of the file, with this code, and those around it, by folder."""
    project = projects[code.home]
    if len(projects) > 1 or not project.whole:
        return frozenset()
    built, importers, contents = project.built, code.importers, code.contents
    running = {user for each in code.running for user in (each, *importers.programs_of(each))}

    def has_trainer(user: str) -> bool:
        """Whether a file that makes objects may have Lightning run them, or gives them to others."""
        programs = importers.programs_running(user)
        return not programs or user in running or not running.isdisjoint(programs)

    found: set[str] = set()
    for cls in classes_in(contents.get(path.relative_to(code.home).as_posix(), b"")):
        names = {cls, *heirs_of(cls, contents.values())}
        if names.isdisjoint({*built.whole, *built.parts}) and not is_renamed(names, contents.values()):
            users = [each for each, content in contents.items() if is_used(names, content)]
            if users and not any(map(has_trainer, users)):
                found.add(cls)
    return frozenset(found)
