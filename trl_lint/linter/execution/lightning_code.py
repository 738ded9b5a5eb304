"""The code of a project in which Lightning runs something: read once for all files that log with Lightning.

train.py         Trainer(strategy=strategy_for(gpus)).fit(model)     has Lightning run something
strategies.py    DDPStrategy()                                       names a strategy of several processes
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from trl_lint.analysis.program.project.source_text import code_of
from trl_lint.knowledge.lightning_runs import (
    CHANGES_LIMIT,
    DATA_MODULE,
    GIVES_VALIDATION_DATA,
    LIMITS_VALIDATION,
    NAMES_STRATEGY,
    PACKAGE,
    PLAIN_LOADER,
    may_run,
)
from trl_lint.linter.execution.class_uses import classes_in
from trl_lint.linter.execution.project_files import content_of
from trl_lint.linter.execution.project_scan import ProjectScan
from trl_lint.linter.execution.trainer_runs import TrainerRuns, runs_in


class LightningCode:
    """The Python files of a project, by their paths in it. home: its folder."""

    def __init__(self, home: Path, project: ProjectScan) -> None:
        self.home = home
        self.importers = project.importers
        self.contents = {each: content_of(home / each) for each in sorted(self.importers.code)}
        self._runs: dict[str, TrainerRuns] = {}

    def runs(self, path: str) -> TrainerRuns:
        """What a file has Lightning run."""
        if path not in self._runs:
            self._runs[path] = runs_in(self.contents[path], self.makers_of_training_data)
        return self._runs[path]

    @cached_property
    def classes(self) -> frozenset[str]:
        """The names of all classes."""
        return frozenset().union(*map(classes_in, self.contents.values()))

    @cached_property
    def makers_of_training_data(self) -> frozenset[str]:
        """The names of what makes data that is surely for training only: no file has any to validate on."""
        if any(GIVES_VALIDATION_DATA.search(each) is not None for each in self.contents.values()):
            return frozenset()
        modules = (name for each in self.contents.values() for name in DATA_MODULE.findall(each))
        return frozenset({PLAIN_LOADER, *(each.decode("utf-8", "replace") for each in modules)})

    @cached_property
    def limits_validation(self) -> bool:
        """Whether a file may have Lightning run something without a validation, and none changes that for a Trainer."""
        limits = any(LIMITS_VALIDATION.search(self.contents[each]) is not None for each in self.running)
        if not limits and not self.makers_of_training_data:
            return False
        return not any(CHANGES_LIMIT.search(each) is not None for each in self.contents.values())

    @cached_property
    def running(self) -> frozenset[str]:
        """The files that may have Lightning run something."""
        return frozenset(each for each, content in self.contents.items() if may_run(content))

    @cached_property
    def naming(self) -> frozenset[str]:
        """The files whose code names a strategy of several processes."""
        return frozenset(
            each
            for each, content in self.contents.items()
            if PACKAGE.search(content) is not None and NAMES_STRATEGY.search(code_of(content)) is not None
        )
