"""A linter for one file that is being typed: it takes up its analysis again where only one function has changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint.analysis.program.project.nesting import deeply
from trl_lint.linter.linter import Linter

if TYPE_CHECKING:
    from trl_lint.analysis.events import Event
    from trl_lint.analysis.interprocedural.entry_points import Engine
    from trl_lint.analysis.program.project.project import Module, Project


class LiveLinter(Linter):
    """Lints one file, over and over.

    is_interrupted: is asked now and then whether nobody waits any more for what is found.
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
    def retyped(self, path: Path, source: bytes) -> bool:
        """Look at a new text of a file that was looked at; False where that has to be done from the start.

        What is found is that of the new text, as far as it shows without another look at what is as it was. After
        False nothing may be asked of this linter any more.
        """
        from trl_lint.analysis.program.project.reparsing import Retyped

        project, engine = self._tools()
        known = project.analysed.get(path)
        if known is None or known[0] == source:
            return known is not None
        module: Module = known[1]
        change = Retyped.between(module, source)
        if change is None:
            return False
        mentions, shown = module.remembered()
        module.retype(source, change.tree)
        project.trees[path] = (source, change.tree)
        if any(module.mentions(each) != was for each, was in mentions.items()):
            return False
        if any(module.shows(each) != was for each, was in shown.items()):
            return False
        events = engine.analyse_again(module, change)
        if events is None:
            return False
        self._elsewhere.clear()
        self.found_from.clear()
        self._told(path, source, module, events)
        for caller in self._callers or ():
            if caller in project.analysed:
                text, parsed, _, _ = project.analysed[caller]
                self._told(caller, text, parsed, engine.events_of(parsed))
        return True
