"""The trees on which speed, crashes and launches are measured: which release, and which of its files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from evaluation.common import python_files
from evaluation.releases import Release, fetch


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
TRANSFORMERS = Corpus(Release("transformers", "5.24.0"))
TRANSFORMERS_TRAINERS = Corpus(Release("transformers", "5.24.0"), ("transformers/trainer*.py",))
ACCELERATE = Corpus(Release("accelerate", "1.15.0"))
# The source distribution has loops that are not in the wheel (tests, and examples if there are any).
ACCELERATE_LOOPS = Corpus(Release("accelerate", "1.15.0", "sdist"), ("examples/**/*.py", "tests/**/*.py"))
PEFT = Corpus(Release("peft", "0.21.2"))

SPEED = (TRL, TRANSFORMERS_TRAINERS, ACCELERATE)
CRASH = (TRL, TRANSFORMERS, ACCELERATE, ACCELERATE_LOOPS, PEFT)

# Launch commands are in the documentation and scripts of source distributions, if there are any.
_LAUNCHES = {
    "trl": ("0.16.1", "0.20.0", "1.16.0"),
    "transformers": ("4.51.3", "5.24.0"),
    "accelerate": ("1.6.0", "1.15.0"),
    "peft": ("0.21.2",),
    "sentence-transformers": ("6.2.0",),
    "setfit": ("1.2.0",),
    "adapters": ("1.3.0",),
    "alignment-handbook": ("0.3.0",),
    "axolotl": ("0.19.0",),
    "llamafactory": ("0.9.5",),
    "ms-swift": ("4.6.0",),
    "verl": ("0.9.1",),
    "lm-eval": ("0.4.13",),
    "fms-hf-tuning": ("0.0.1",),
    "fschat": ("0.2.36",),
    "gliner": ("0.2.29",),
    "gritlm": ("1.0.2",),
    "llm2vec": ("0.2.3",),
    "liger-kernel": ("0.8.5",),
    "optimum": ("1.27.0",),
    "optimum-habana": ("1.21.2",),
    "optimum-neuron": ("0.4.5",),
    "colpali-engine": ("0.3.18",),
    "pylate": ("1.6.0",),
    "span-marker": ("1.8.1",),
    "simpletransformers": ("0.70.8",),
}
LAUNCHES = tuple(
    Corpus(Release(package, version, "sdist")) for package, versions in _LAUNCHES.items() for version in versions
)
