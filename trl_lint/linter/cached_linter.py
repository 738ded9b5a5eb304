"""A linter that looks up stored results before it analyses anything, and stores new ones.

Three things are stored. Whether a content may matter to any rule depends on the content alone, so it is stored per
content.
Findings are stored per run, because the analysis of one file may find something in another file. They are valid for the
same files with the same contents (files that do not matter are ignored), as long as everything else that the analysis
read on the machine is unchanged. If only comments and blank lines have changed since the last run, its findings are
valid too, moved to the lines where their code is now.
Findings about launch commands are stored for all files that contain such commands, as long as the disk still gives the
same answers to what was asked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint import files as reading
from trl_lint.config import Selection
from trl_lint.findings import Finding
from trl_lint.linter.linter import Linter
from trl_lint.linter.results import LaunchOutcome, SourceError
from trl_lint.linter.store import rule_cards
from trl_lint.linter.store.cache import Cache, digest
from trl_lint.linter.store.content_cache import ContentCache
from trl_lint.linter.store.dependencies import Dependencies, kinds_of
from trl_lint.linter.store.launch_cache import LaunchCache
from trl_lint.linter.store.serialization import CheckOutcome, outcome_of, row_of, with_edits_built
from trl_lint.linter.store.tool import key_of, tool_key, tools_key
from trl_lint.linter.versions import own_names
from trl_lint.rules.cards import Card
from trl_lint.settings import Settings

if TYPE_CHECKING:
    from trl_lint.linter.execution.engines import ProjectEngines
    from trl_lint.linter.store.last_run import ChangedLines
    from trl_lint.rules.base import BaseRule

# Settings that affect how findings are shown and where they are stored, but not which findings there are.
_PRESENTATION = frozenset({"unsafe_fixes", "output_format", "cache_dir", "baseline", "extend", "sources"})


class CachedLinter(Linter):
    """Lints the files of one run. `prepare` gets all of them; the run is stored once each file has been checked.

    rules: the rules that run, or their cards. edits: whether the edits of fixes are wanted. They are then stored too;
    otherwise they must not be requested.
    """

    def __init__(
        self,
        settings: Settings,
        roots: Sequence[Path],
        rules: Sequence[BaseRule | Card],
        cache: Cache,
        *,
        edits: bool = False,
        selection: Selection | None = None,
    ) -> None:
        self.cards = tuple(each if isinstance(each, Card) else each.card for each in rules)
        imported = (each.rule() if isinstance(each, Card) else each for each in rules)
        super().__init__(settings, roots, imported, can_fix=False, selection=selection)
        self._cache = cache
        self._with_edits = edits
        self._verdicts: ContentCache | None = None
        self._launch_cache: LaunchCache | None = None
        # The names of two cache entries: that of this run, and the one that points to the last run on the same files.
        self._entry = self._last_run = ""
        # The contents of this run that matter. Their outcomes, as far as known, are in `_outcomes`.
        self._contents: dict[Path, bytes] = {}
        # Stored outcomes of files that do not matter, but in which the analysis of other files found something.
        self._passed_over_outcomes: dict[Path, CheckOutcome] = {}
        self._outcomes: dict[Path, CheckOutcome] = {}

    def may_matter(self, source: bytes) -> bool:
        if self._verdicts is None:
            name = f"gate-{key_of(self._tools_key(), self._codes(), own_names(self.settings))}"
            self._verdicts = ContentCache(self._cache, name)
        known = self._verdicts.of(source)
        if not isinstance(known, bool):
            known = super().may_matter(source)
            self._verdicts.add(source, known)
        return known

    def _known_engines(self) -> ProjectEngines:
        from trl_lint.linter.execution.scan_cache import ScanCache

        found = super()._known_engines()
        found.looks = ScanCache(ContentCache(self._cache, f"looks-{key_of(tool_key())}"))
        return found

    def prepare(self, files: Iterable[tuple[Path, bytes]]) -> None:
        read = dict(files)
        self._contents = self._modules_of(read)
        self._passed_over_outcomes = {}
        if self._verdicts is not None:
            self._verdicts.save()
            rule_cards.store(self._cache, self.settings.plugins)
        request_key = self._request_key()
        launches = {path: source for path, source in read.items() if self.may_launch(path, source)}
        name = f"launches-{key_of(request_key, _digests(launches))}"
        self._launch_cache = LaunchCache(self._cache, name, launches, edits=self._with_edits)
        self._entry, self._last_run = self._entry_names(request_key)
        self._outcomes = self._load(self._entry) or self._outcomes_of_last_run()
        if not self._outcomes:
            self.analyse(self._contents)

    def passed_over_with_findings(self) -> dict[Path, bytes]:
        if self._project is not None:
            return super().passed_over_with_findings()
        return {path: reading.read(path) for path in sorted(self._passed_over_outcomes) if path in self._passed_over}

    def check_code(self, path: Path, source: bytes) -> list[Finding]:
        if path in self._passed_over_outcomes:
            return self._findings_of(path, self._passed_over_outcomes[path])
        if self._contents.get(path) != source:
            return super().check_code(path, source)
        outcome = self._outcomes.get(path)
        if outcome is None:
            outcome = self._check(path, source)
            if len(self._outcomes) == len(self._contents):
                self._save()
        if outcome.error is not None:
            raise outcome.error
        return self._findings_of(path, outcome)

    def _findings_of(self, path: Path, outcome: CheckOutcome) -> list[Finding]:
        self.comments.unasked[path] = list(outcome.unasked)
        return list(outcome.findings)

    def _check(self, path: Path, source: bytes) -> CheckOutcome:
        """The outcome of an analysis. It is not recorded if the tool itself fails."""
        try:
            outcome = self._outcome(path, source)
        except SourceError as error:
            outcome = CheckOutcome(error=error)
        except _NoEdits as unbuilt:  # reported when a report asks for the edits
            return CheckOutcome(unbuilt.findings)
        self._outcomes[path] = outcome
        return outcome

    def _outcome(self, path: Path, source: bytes) -> CheckOutcome:
        found = super().check_code(path, source)
        unasked = tuple(self.comments.unasked.get(path, ()))
        try:
            built = tuple(with_edits_built(each) for each in found) if self._with_edits else tuple(found)
            return CheckOutcome(built, unasked)
        except Exception:
            raise _NoEdits(tuple(found)) from None

    def launches_in(self, path: Path, source: bytes) -> LaunchOutcome:
        launch_cache = self._launch_cache
        if launch_cache is None or self.overlay:  # overlay content says nothing about the disk
            return super().launches_in(path, source)
        known = launch_cache.of(path, source)
        if known is None:
            known = super().launches_in(path, source)
            launch_cache.add(path, source, known, self.launches.trainers.disk)
        self.comments.unasked_launches[path] = list(known.unasked)
        return known

    def _request_key(self) -> str:
        """A key for everything that is asked about files, whichever files they are."""
        chosen = {each.name: getattr(self.settings, each.name) for each in fields(Settings)}
        return key_of(
            self._tools_key(),
            {name: value for name, value in chosen.items() if name not in _PRESENTATION},
            os.getcwd() if self.settings.root is None else None,
            self._codes(),
            self.selection,
            [(str(root), os.path.isdir(root)) for root in self.roots],
            self._with_edits,
        )

    def _entry_names(self, request_key: str) -> tuple[str, str]:
        """The names of two cache entries.

        The first is for this run: all that is known to matter before the analysis starts. The second is for all runs
        that ask the same about these files, whatever their contents.
        """
        contents = _digests(self._contents)
        return f"run-{key_of(request_key, contents)}", f"last-{key_of(request_key, [path for path, _ in contents])}"

    def _tools_key(self) -> str:
        return tools_key(self.settings.plugins)

    def _codes(self) -> list[str]:
        return [card.code for card in self.cards]

    def _load(self, name: str, changed: ChangedLines | None = None) -> dict[Path, CheckOutcome]:
        """The stored outcomes of a run; empty if there are none or if they are no longer valid.

        changed: where the lines of changed files are now, if only comments have changed.
        """
        entry = self._cache.load(name) if self._contents else None
        if not isinstance(entry, dict):
            return {}
        try:
            outcomes, passed_over = (
                {Path(path): outcome_of(path, row) for path, row in entry[kind].items()} for kind in ("files", "beside")
            )
            dependencies = Dependencies(**entry["dependencies"])
            if changed is not None:
                outcomes, passed_over = map(changed.all_moved, (outcomes, passed_over))
                dependencies = changed.with_current_contents(dependencies)
            is_valid = outcomes.keys() == self._contents.keys() and dependencies.hold(
                self._engines_now(dependencies), partial(self._paths_of_callers, dependencies)
            )
        except (AttributeError, KeyError, TypeError, ValueError):  # foreign data, or a line that is gone
            return {}
        self._passed_over_outcomes = passed_over if is_valid else {}
        if not is_valid:
            return {}
        refreshed = self._refreshed(dependencies)
        if changed is not None and changed.lines:
            self._store(outcomes, passed_over, refreshed)
        elif refreshed is not dependencies:
            self._store_entry(outcomes, passed_over, refreshed)
        return outcomes

    def _refreshed(self, known: Dependencies) -> Dependencies:
        """Dependencies that hold; those found out again are stored with what they were found out from this time."""
        if known.engines and self._engines is not None:
            known = known._replace(engines_from=self.engines.state())
        search = self._caller_search
        if search is None or self._callers is None or search.digest == known.importers_from:
            return known
        kinds = kinds_of(search.exists, ())
        if kinds is None:
            return known
        importers = sorted(map(str, self._callers))
        return known._replace(kinds={**known.kinds, **kinds}, importers=importers, importers_from=search.digest)

    def _outcomes_of_last_run(self) -> dict[Path, CheckOutcome]:
        """The outcomes of the last run on these files, if only comments and blank lines have changed since.

        Edits contain text, so they are computed again when they are wanted.
        """
        if self._with_edits or not self._contents:
            return {}
        from trl_lint.linter.store.last_run import LastRun

        last = LastRun.of(self._cache.load(self._last_run))
        changed = last.changed_lines(self._contents) if last is not None else None
        if changed is not None and any(Path(path) in self.documents.parts for path in changed.lines):
            return {}  # a comment of a notebook may contain what starts its processes
        return self._load(last.entry, changed) if last is not None and changed is not None else {}

    def _engines_now(self, known: Dependencies) -> Callable[[str], str]:
        """How a file is run now, in the form of `known.engines`: the same if all that it depends on is the same."""

        @cache
        def are_same() -> bool:
            from trl_lint.linter.execution.project_files import ProjectFiles

            files = ProjectFiles.of(self.settings, self.roots)
            return known.engines_from is not None and files.are_as_in(known.engines_from)

        return lambda path: known.engines[path] if are_same() else self.engines.answer(path)

    def _paths_of_callers(self, known: Dependencies) -> list[str]:
        callers = self._callers_now(known)
        return sorted(map(str, {**callers, **self.heirs.of({**self._contents, **callers})}))

    def _callers_now(self, known: Dependencies) -> Mapping[Path, bytes]:
        """The files that import those of the run: those of `known`, if the same files were searched for them.

        All other dependencies of `known` must hold.
        """
        if self._callers is None and not self.sees_all and known.importers_from:
            search = self._caller_search_for(self._contents)
            if search.digest == known.importers_from:
                return {Path(path): search.others[Path(path)] for path in known.importers}
        return self._callers_of(self._contents)

    def _save(self) -> None:
        # Releases of LibCST differ in what they can parse, so record which one is used.
        self._releases["libcst"]
        # Computing an outcome may read more of the machine, so ask for the dependencies afterwards.
        passed_over = {
            path: self._outcome(path, source) for path, source in self._passed_over_files_with_findings().items()
        }
        dependencies = self.dependencies()
        if dependencies is not None:
            self._store(self._outcomes, passed_over, dependencies)

    def _store(
        self,
        outcomes: Mapping[Path, CheckOutcome],
        passed_over: Mapping[Path, CheckOutcome],
        dependencies: Dependencies,
    ) -> None:
        """Store the outcomes of the run, and the texts they are about."""
        self._store_entry(outcomes, passed_over, dependencies)
        if not self._with_edits:
            from trl_lint.linter.store.last_run import LastRun

            self._cache.save(self._last_run, LastRun.with_texts(self._entry, self._contents, dependencies).row())

    def _store_entry(
        self,
        outcomes: Mapping[Path, CheckOutcome],
        passed_over: Mapping[Path, CheckOutcome],
        dependencies: Dependencies,
    ) -> None:
        files, passed_over_rows = (
            {str(path): row_of(outcome, self._with_edits) for path, outcome in each.items()}
            for each in (outcomes, passed_over)
        )
        self._cache.save(
            self._entry, {"files": files, "beside": passed_over_rows, "dependencies": dependencies._asdict()}
        )


class _NoEdits(Exception):
    """The edits of some findings can't be made."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        super().__init__()
        self.findings = findings


def _digests(contents: Mapping[Path, bytes]) -> list[tuple[str, str]]:
    return sorted((str(path), digest(source)) for path, source in contents.items())
