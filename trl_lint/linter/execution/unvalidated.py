"""The classes of a file whose objects Lightning only runs without a validation, in whatever program it runs them.

    train.py      Trainer(limit_val_batches=0).fit(Net(), data)      `Net.validation_step` never runs
    finetune.py   Trainer().fit(Head(Net.load_from_checkpoint(a)))   nor does it here, where it is a part of a `Head`
    small.py      Trainer().fit(build(args), DataLoader(rows))       nor here, if no file has data to validate on

Not if another program may have it run by its own Trainer, as far as the code tells.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from trl_lint.linter.execution.class_uses import classes_in, heirs_of, is_used, other_names
from trl_lint.linter.execution.importers import Importers
from trl_lint.linter.execution.lightning_code import LightningCode
from trl_lint.linter.execution.project_scan import ProjectScan


def unvalidated(path: Path, projects: Mapping[Path, ProjectScan], code: LightningCode) -> frozenset[str]:
    """The names of these classes. projects: the project of the file, with this code, and those around it, by folder."""
    if len(projects) > 1 or not projects[code.home].whole or not code.limits_validation:
        return frozenset()
    inside = path.relative_to(code.home).as_posix()
    users = [each for each in sorted(code.running) if _may_run(code.importers, each, inside)]
    classes = classes_in(code.contents.get(inside, b""))
    return frozenset(each for each in classes if _is_unvalidated(code, users, each))


def _may_run(importers: Importers, user: str, inside: str) -> bool:
    """Whether what a file has Lightning run may be of another file: a program is made of both, or that is not known."""
    of_user, of_file = map(importers.programs_running, (user, inside))
    return not of_user or not of_file or not of_user.isdisjoint(of_file)


def _is_unvalidated(code: LightningCode, users: Collection[str], cls: str) -> bool:
    """Whether a file has objects of a class run without a validation, and each other one of these does, or has none."""
    names = _names_of(cls, code.contents.values())
    open_users = [each for each in users if code.runs(each).validates]
    if any(not _runs_others_only(code, each, names) for each in open_users):
        return False
    others = (each for each in users if each not in open_users)
    return any(is_used(names, code.contents[each]) or _runs_unknown(code, each) for each in others)


def _runs_others_only(code: LightningCode, user: str, names: Collection[str]) -> bool:
    """Whether all that a file has Lightning run is of other classes of the project."""
    made = code.runs(user).made
    return made is not None and made <= code.classes and made.isdisjoint(names)


def _runs_unknown(code: LightningCode, user: str) -> bool:
    """Whether a file has Lightning run something that no class of the project makes in it: `create_model(settings)`."""
    made = code.runs(user).made
    return made is None or not made <= code.classes


def _names_of(cls: str, contents: Collection[bytes]) -> frozenset[str]:
    """The names of a class and its heirs, also those that imports give them."""
    found, waiting = set[str](), {cls}
    while waiting:
        found |= waiting
        near = {other for each in waiting for other in heirs_of(each, contents)} | other_names(waiting, contents)
        waiting = near - found
    return frozenset(found)
