"""The classes of a file that settings only build as parts of other models, and that no code makes for itself.

model:
  target: own.LatentDiffusion
  params:
    first_stage_config:
      target: own.AutoencoderKL        and in Python nothing but `isinstance(model, AutoencoderKL)`
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from trl_lint.analysis.program.project.import_lines import IMPORT_LINES
from trl_lint.analysis.program.project.source_text import code_of
from trl_lint.launch.judge.built_classes import united
from trl_lint.linter.execution.project_files import content_of
from trl_lint.linter.execution.project_scan import ProjectScan

# Code that names a class and makes no object of it: a test of what an object is, `super(Net, self)`.
_ASKS = rb"\b(?:isinstance|issubclass|super)\((?:[^()]|\([^()]*\))*\)"
_CLASSES = rb"(?m)^[ \t]*class[ \t]+(\w+)[ \t]*(?:\([^()]*\))?[ \t]*:"
_HEIRS = rb"(?m)^[ \t]*class[ \t]+(\w+)[ \t]*\([^()]*\b%b\b[^()]*\)"
_RENAMED = rb"\b%b[ \t]+as\b"
_WORD = rb"\b%b\b"


def only_parts(path: Path, projects: Mapping[Path, ProjectScan]) -> frozenset[str]:
    """The names of these classes; none if the settings that are known build no class of the file as a part.

    projects: the project of the file, and those around it, by folder.
    """
    built = united(each.built for each in projects.values())
    if not built.parts or not all(each.whole for each in projects.values()):
        return frozenset()
    classes = {each.decode("utf-8", "replace") for each in re.findall(_CLASSES, content_of(path))}
    # A class that is only asked for, beside one that is a part, is a part in the settings of other people.
    if built.parts.isdisjoint(classes):
        return frozenset()
    code = [content_of(folder / each) for folder, scan in projects.items() for each in sorted(scan.importers.code)]
    return frozenset(each for each in classes if not _may_be_whole(each, built.whole, code))


def _may_be_whole(cls: str, whole: Collection[str], contents: Sequence[bytes]) -> bool:
    """Whether settings name a class, or one that inherits from it, as a model, or code does anything with it."""
    waiting = [cls]
    seen = set(waiting)
    while waiting:
        name = waiting.pop()
        if name in whole:
            return True
        word, heirs, renamed = (re.compile(each % name.encode()) for each in (_WORD, _HEIRS, _RENAMED))
        for code in (code_of(each) for each in contents if name.encode() in each):
            if renamed.search(code) is not None or word.search(_without_questions(code)) is not None:
                return True
            new = {each.decode() for each in heirs.findall(code)} - seen
            seen |= new
            waiting += new
    return False


def _without_questions(code: bytes) -> bytes:
    """Code without the imports, the heads of classes and the tests of what an object is."""
    for pattern in (IMPORT_LINES, _CLASSES, _ASKS):
        code = re.sub(pattern, b"", code)
    return code
