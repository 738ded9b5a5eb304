"""The trees that speed and crash are measured on: which release, and which of its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from common import python_files
from releases import Release, fetch


@dataclass(frozen=True)
class Corpus:
    """Some files of a release, which is linted as one project."""

    release: Release
    patterns: tuple[str, ...] = ("**/*.py",)

    @property
    def root(self) -> Path:
        return fetch(self.release)

    @property
    def files(self) -> list[Path]:
        return python_files(self.root, self.patterns)

    def __str__(self) -> str:
        return str(self.release)


TRL = Corpus(Release("trl", "1.16.0"))
TRANSFORMERS = Corpus(Release("transformers", "5.23.0"))
TRANSFORMERS_TRAINERS = Corpus(Release("transformers", "5.23.0"), ("transformers/trainer*.py",))
ACCELERATE = Corpus(Release("accelerate", "1.15.0"))
# The source distribution carries loops that are not in the wheel (tests, and examples where it has them).
ACCELERATE_LOOPS = Corpus(Release("accelerate", "1.15.0", "sdist"), ("examples/**/*.py", "tests/**/*.py"))
PEFT = Corpus(Release("peft", "0.21.2"))

SPEED = (TRL, TRANSFORMERS_TRAINERS, ACCELERATE)
CRASH = (TRL, TRANSFORMERS, ACCELERATE, ACCELERATE_LOOPS, PEFT)
