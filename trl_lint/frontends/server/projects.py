"""The projects that open documents belong to: their settings, and their parsed files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import libcst as cst

from trl_lint.analysis.events import Event
from trl_lint.config import Selection, load_settings, selection
from trl_lint.linter.execution.engines import ProjectEngines
from trl_lint.linter.files.discovery import import_roots, is_excluded
from trl_lint.linter.linter import Linter
from trl_lint.linter.live_linter import LiveLinter
from trl_lint.linter.runner import FileResult
from trl_lint.linter.suppression import baseline
from trl_lint.linter.suppression.baseline import Baseline
from trl_lint.rules import find_rule
from trl_lint.rules.base import BaseRule
from trl_lint.settings import ConfigError, Settings


@dataclass
class _Chosen:
    """The settings of a folder, and what they select."""

    settings: Settings
    wanted: Selection


@dataclass
class _Live:
    """The document that is being typed: its linter, and the linter's other inputs."""

    path: Path
    linter: LiveLinter
    chosen: _Chosen
    others: dict[Path, bytes]


@dataclass
class Projects:
    """What is known of all projects. Used by one thread at a time.

    overlay: the text of each open document. complain: called with a message for the user about invalid settings; the
    last valid ones stay in force.
    """

    report_settings_error: Callable[[str], None]
    overlay: dict[Path, bytes] = field(default_factory=dict)
    _chosen: dict[Path, _Chosen] = field(default_factory=dict)
    _last_good: dict[Path, _Chosen] = field(default_factory=dict)
    _excluded: dict[Path, bool] = field(default_factory=dict)
    _baselines: dict[Path, Baseline | None] = field(default_factory=dict)  # None: it can't be read
    # By the first import root: the trees of its files, and its engines.
    _trees: dict[Path, dict[Path, tuple[bytes, cst.Module]]] = field(default_factory=dict)
    _engines: dict[tuple[Settings, Path], ProjectEngines] = field(default_factory=dict)
    _live: _Live | None = None

    def forget(self, *, settings: bool) -> None:
        """Read engines and baselines from disk again, and the settings if `settings`."""
        self._engines.clear()
        self._live = None
        self._baselines.clear()
        if settings:
            self._chosen.clear()
            self._excluded.clear()

    @property
    def named(self) -> frozenset[Path]:
        """The files that the current settings come from, or name."""
        found: set[Path] = set()
        for each in list(self._last_good.values()):
            found.update(Path(os.path.abspath(path)) for _, path in each.settings.sources)
            found.update(path for path in (baseline.path_of(each.settings),) if path is not None)
        return frozenset(found)

    def find_rule(self, path: Path, word: str) -> BaseRule | None:
        """The rule with a code or name that applies in a file, including those of its project's plugins."""
        return find_rule(word, self._of(path).settings.plugins)

    def any_matters(self, paths: Iterable[Path]) -> bool:
        """Whether findings may depend on one of these files: code, and files that are not excluded."""
        return any(path.suffix == ".py" or not self.is_excluded(path) for path in paths)

    def is_excluded(self, path: Path) -> bool:
        """Whether the settings or git exclude a file: an editor also opens files that are not meant to be linted."""
        if path not in self._excluded:
            settings = self._of(path).settings
            self._excluded[path] = is_excluded(path, root=settings.root, exclude=settings.exclude)
        return self._excluded[path]

    def without_known(self, result: FileResult, linter: Linter) -> FileResult:
        """The result for a document without findings in the baseline of its project, if there is a readable one."""
        path = baseline.path_of(linter.settings)
        if path is None:
            return result
        if path not in self._baselines:
            try:
                self._baselines[path] = baseline.read(path)
            except ConfigError as error:
                self.report_settings_error(str(error))
                self._baselines[path] = None
        known = self._baselines[path]
        return result if known is None else baseline.match(known, [result], linter).results[0]

    def linter(self, path: Path, *, can_fix: bool = False, extra_events: Iterable[type[Event]] = ()) -> Linter:
        """A linter for one lint of a document, with the findings of `trl-lint PATH`; it reuses all parsed trees.

        can_fix: it has to compute the text that `--fix` would write. extra_events: see `Linter`.
        """
        chosen = self._of(path)
        linter = Linter(*self._linter_inputs(path), can_fix=can_fix, selection=chosen.wanted, extra_events=extra_events)
        self._share_caches(linter, chosen)
        return linter

    def live(self, path: Path, is_stale: Callable[[], bool]) -> LiveLinter:
        """A linter like that of `linter` for a document that is being typed; `keep` keeps it for the next texts."""
        chosen = self._of(path)
        linter = LiveLinter(*self._linter_inputs(path), can_fix=False, selection=chosen.wanted)
        linter.is_interrupted = is_stale
        self._share_caches(linter, chosen)
        return linter

    def update(self, path: Path, source: bytes) -> LiveLinter | None:
        """The kept linter, after an incremental lint of the new text of its document; None if that is impossible."""
        live, self._live = self._live, None
        others = {each: text for each, text in self.overlay.items() if each != path}
        if live is None or (live.path, live.others) != (path, others) or live.chosen is not self._of(path):
            return None
        live.linter.overlay[path] = source
        try:
            code = live.linter.modules(path, source).get(path)
            if code is None or not live.linter.update(path, code):
                return None
        except Exception:  # it is linted from scratch, which will report the error if there is one
            return None
        self._live = live
        return live.linter

    def keep(self, path: Path, linter: LiveLinter) -> None:
        """Keep a linter that has linted a document, instead of the one kept before."""
        others = {each: text for each, text in self.overlay.items() if each != path}
        linter.is_interrupted = bool
        self._live = _Live(path, linter, self._of(path), others)

    def _linter_inputs(self, path: Path) -> tuple[Settings, Sequence[Path], Sequence[BaseRule]]:
        chosen = self._of(path)
        return chosen.settings, import_roots(chosen.settings.root, [path]), chosen.wanted.rules

    def _share_caches(self, linter: Linter, chosen: _Chosen) -> None:
        top = linter.roots[0]
        linter.overlay = dict(self.overlay)
        linter.trees = self._trees.setdefault(top, {})
        linter.engines = self._engines.setdefault(
            (chosen.settings, top), ProjectEngines.of(chosen.settings, linter.roots)
        )

    def _of(self, path: Path) -> _Chosen:
        folder = path.parent
        if folder not in self._chosen:
            try:
                settings = load_settings(folder)
                self._chosen[folder] = self._last_good[folder] = _Chosen(settings, selection(settings))
            except ConfigError as error:
                self.report_settings_error(str(error))
                default = _Chosen(Settings(), selection(Settings()))
                self._chosen[folder] = self._last_good.get(folder, default)
        return self._chosen[folder]
