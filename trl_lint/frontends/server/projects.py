"""The projects that open documents belong to: their settings, and what has been parsed of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from trl_lint import setting_files
from trl_lint.analysis.events import Event
from trl_lint.config import Selection, load_settings, selection
from trl_lint.linter.discovery import import_roots, is_excluded
from trl_lint.linter.engines import ProjectEngines
from trl_lint.linter.linter import Linter
from trl_lint.settings import ConfigError, Settings

# The files whose change may change the settings of what lies below.
SETTINGS_FILES = frozenset(setting_files.NAMES)


@dataclass
class _Chosen:
    """The settings of a folder, and what they select."""

    settings: Settings
    wanted: Selection


@dataclass
class Projects:
    """What is known of all projects. It is asked by one thread at a time.

    overlay: the text of each open document. complain: is given a line for the user about settings nobody can act on;
    the last ones that were good stay in force.
    """

    complain: Callable[[str], None]
    overlay: dict[Path, bytes] = field(default_factory=dict)
    _chosen: dict[Path, _Chosen] = field(default_factory=dict)
    _last_good: dict[Path, _Chosen] = field(default_factory=dict)
    _excluded: dict[Path, bool] = field(default_factory=dict)
    # By the first of the places where imports are looked up: the trees of its files, and its engines.
    _trees: dict[Path, dict[Path, object]] = field(default_factory=dict)
    _engines: dict[tuple[Settings, Path], ProjectEngines] = field(default_factory=dict)

    def forget(self, *, settings: bool) -> None:
        """Look anew at what files on the disk say of the engines of a project, and what the settings say."""
        self._engines.clear()
        if settings:
            self._chosen.clear()
            self._excluded.clear()

    def is_excluded(self, path: Path) -> bool:
        """Whether the settings or git leave a file out: an editor opens files that nobody asked to lint."""
        if path not in self._excluded:
            settings = self._of(path).settings
            self._excluded[path] = is_excluded(path, root=settings.root, exclude=settings.exclude)
        return self._excluded[path]

    def linter(self, path: Path, *, mends: bool = False, asks: Iterable[type[Event]] = ()) -> Linter:
        """A linter for one look at a document, finding what `trl-lint PATH` does; it has all that was parsed before.

        mends: it is asked for the text that `--fix` would write. asks: for what else it is asked; see `Linter`.
        """
        chosen = self._of(path)
        roots = import_roots(chosen.settings.root, [path])
        asked = chosen.settings, roots, chosen.wanted.rules
        linter = Linter(*asked, mends=mends, selection=chosen.wanted, asks=asks)
        linter.overlay = self.overlay
        linter.trees = self._trees.setdefault(roots[0], {})
        linter.engines = self._engines.setdefault(
            (chosen.settings, roots[0]), ProjectEngines.of(chosen.settings, roots)
        )
        return linter

    def _of(self, path: Path) -> _Chosen:
        folder = path.parent
        if folder not in self._chosen:
            try:
                settings = load_settings(folder)
                self._chosen[folder] = self._last_good[folder] = _Chosen(settings, selection(settings))
            except ConfigError as error:
                self.complain(str(error))
                default = _Chosen(Settings(), selection(Settings()))
                self._chosen[folder] = self._last_good.get(folder, default)
        return self._chosen[folder]
