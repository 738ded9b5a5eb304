"""The classes of a file that settings only build as parts of other models, and that no code makes for itself.

model:
  target: own.LatentDiffusion
  params:
    first_stage_config:
      target: own.AutoencoderKL        and in Python nothing but `isinstance(model, AutoencoderKL)`
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from trl_lint.launch.judge.built_classes import united
from trl_lint.linter.execution.class_uses import classes_in, heirs_of, is_renamed, is_used
from trl_lint.linter.execution.project_files import content_of
from trl_lint.linter.execution.project_scan import ProjectScan


def only_parts(path: Path, projects: Mapping[Path, ProjectScan]) -> frozenset[str]:
    """The names of these classes; none if the settings that are known build no class of the file as a part.

    projects: the project of the file, and those around it, by folder.
    """
    built = united(each.built for each in projects.values())
    if not built.parts or not all(each.whole for each in projects.values()):
        return frozenset()
    classes = classes_in(content_of(path))
    # A class that is only asked for, beside one that is a part, is a part in the settings of other people.
    if built.parts.isdisjoint(classes):
        return frozenset()
    code = [content_of(folder / each) for folder, scan in projects.items() for each in sorted(scan.importers.code)]
    return frozenset(each for each in classes if not _may_be_whole(each, built.whole, code))


def _may_be_whole(cls: str, whole: Collection[str], contents: Sequence[bytes]) -> bool:
    """Whether settings name a class, or one that inherits from it, as a model, or code does anything with it."""
    names = {cls, *heirs_of(cls, contents)}
    is_named = not names.isdisjoint(whole) or is_renamed(names, contents)
    return is_named or any(is_used(names, each) for each in contents)
