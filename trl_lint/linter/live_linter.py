"""A linter for a file that is being edited: it reuses the previous analysis if only one function has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint.linter.deep_stack import deeply
from trl_lint.linter.linter import Linter

if TYPE_CHECKING:
    from trl_lint.analysis.events import Event
    from trl_lint.analysis.interprocedural.entry_points import Engine
    from trl_lint.analysis.program.project.project import Module, Project


class LiveLinter(Linter):
    """Lints one file repeatedly.

    is_interrupted: polled during the analysis; True if the result is no longer needed.
    """

    is_interrupted: Callable[[], bool] = bool

    def _new_engine(
        self, project: Project, releases: Mapping[str, str], events: frozenset[type[Event]] | None
    ) -> Engine:
        from trl_lint.analysis.interprocedural.rerunning import RerunEngine

        engine = RerunEngine(project, releases, events)
        engine.is_interrupted = lambda: self.is_interrupted()
        return engine

    @deeply
    def update(self, path: Path, source: bytes) -> bool:
        """Analyse a new text of a known file incrementally; False if it has to be analysed from the start.

        The findings are then those of the new text, as far as they show without another analysis of the unchanged code.
        After False, this linter must not be used any more.
        """
        from trl_lint.analysis.program.project.reparsing import ChangedBody

        project, engine = self._tools()
        known = project.analysed.get(path)
        if known is None or known[0] == source:
            return known is not None
        module: Module = known[1]
        change = ChangedBody.between(module, source)
        if change is None:
            return False
        mentions, shown_before = module.remembered()
        module.retype(source, change.tree, change.replacements)
        project.trees[path] = (source, change.tree)
        if any(module.mentions(each) != was for each, was in mentions.items()):
            return False
        if any(module.shows(each) != was for each, was in shown_before.items()):
            return False
        events = engine.analyse_again(module, change)
        if events is None:
            return False
        self._elsewhere.clear()
        self.found_from.clear()
        self._record_violations(path, source, module, events)
        for caller in self._callers or ():
            if caller in project.analysed:
                text, parsed, _, _ = project.analysed[caller]
                self._record_violations(caller, text, parsed, engine.events_of(parsed))
        return True
