"""Lint Python code: parse it, analyse it, and run the rules.

LibCST, and everything that needs it, is imported only once a file turns out to matter.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trl_lint.config import Selection, ignored_in
from trl_lint.findings import Finding
from trl_lint.linter.deep_stack import deeply
from trl_lint.linter.files.documents import Documents
from trl_lint.linter.files.heirs import Heirs
from trl_lint.linter.resources import resource_errors, without_collector
from trl_lint.linter.results import GIVEN_UP, CommentContext, SourceError
from trl_lint.linter.versions import known_of, own_names, versions_of
from trl_lint.rules import all_rules, by_event, code_rules
from trl_lint.settings import Settings

if TYPE_CHECKING:
    from trl_lint.analysis.events import Event, Known
    from trl_lint.analysis.interprocedural.entry_points import Engine
    from trl_lint.analysis.program.project.project import Module, Project
    from trl_lint.linter.execution.engines import ProjectEngines
    from trl_lint.linter.files.callers import CallerSearch
    from trl_lint.linter.files.prefilter import Prefilter
    from trl_lint.linter.locate import LocatedViolation, RuleViolation
    from trl_lint.linter.store.dependencies import Dependencies
    from trl_lint.rules import CodeRule
    from trl_lint.rules.base import BaseRule
    from trl_lint.rules.cards import Card


class CodeLinter:
    """Finds bugs in the Python code of a project.

    It keeps parsed modules, so files that import each other are read once.

    Args:
        rules: The rules that run; read, and so imported, only once one of them is needed.
        can_fix: Whether fixes may be requested. If so, the analysis collects the events of all rules, because a fix
            must not cause a finding of another rule; otherwise only those of the selected rules.
        selection: Which findings are wanted; None: all.
        extra_events: Further events that are needed, apart from those of the rules.
    """

    # Whether the whole project is linted, so that there are no importers outside it.
    sees_all = False
    # Called with the number of files analysed so far, and the total.
    on_progress: Callable[[int, int], None] = staticmethod(lambda done, total: None)

    def __init__(
        self,
        settings: Settings,
        roots: Sequence[Path],
        rules: Iterable[BaseRule],
        *,
        can_fix: bool = True,
        selection: Selection | None = None,
        extra_events: Iterable[type[Event]] = (),
    ) -> None:
        self.settings, self.selection, self.can_fix = settings, selection, can_fix
        self._extra_events = frozenset(extra_events)
        self.roots = tuple(roots)
        self._chosen_rules = rules
        # Contents that replace files on disk (an editor's unsaved buffers).
        self.overlay: dict[Path, bytes] = {}
        # Parsed trees, shared with the linters that check a fixed text.
        self.trees: dict[Path, Any] = {}
        # Also shared: the linted files, and per file the contents of other files whose analysis found something in it.
        # Without them, a finding that depends on another file would vanish as soon as a fix is tried.
        self.linted: set[Path] = set()
        self.found_from: dict[Path, dict[Path, bytes]] = {}
        self._engines: ProjectEngines | None = None
        self._project: Project | None = None
        self._engine: Any = None
        self._releases = versions_of(settings)
        # Contents that could not be analysed, with the error.
        self._failed: dict[Path, tuple[bytes, Exception]] = {}
        self.comments = CommentContext()
        self.documents = Documents(settings, lambda: self._prefilter)  # shared, too
        # The files that import files of the run but are not in it; None until they are searched for.
        self._callers: dict[Path, bytes] | None = None
        self._caller_search: CallerSearch | None = None
        self.heirs = Heirs()
        # Violations that the analysis of one file found in another one, keyed by that other file.
        self._elsewhere: dict[Path, list[RuleViolation]] = {}

    @cached_property
    def rules(self) -> tuple[BaseRule, ...]:
        """The rules that run."""
        return tuple(self._chosen_rules)

    @cached_property
    def cards(self) -> tuple[Card, ...]:
        """What is known of these rules without importing them."""
        return tuple(rule.card for rule in self.rules)

    def _has_rules(self, about: str) -> bool:
        """Whether any of the rules is about this; see `cards.py`."""
        return any(card.about == about for card in self.cards)

    @cached_property
    def _code_rules(self) -> tuple[CodeRule, ...]:
        return code_rules(self.rules)

    @cached_property
    def _prefilter(self) -> Prefilter:
        from trl_lint.linter.files.prefilter import prefilter_of

        # All rules, not just the selected ones: a file that passes its loss to the `log` of a base class in another
        # file need not mention logging, and the findings of one rule must not depend on which others are selected.
        rules = (*self._code_rules, *code_rules(all_rules())) if self._code_rules else ()
        return prefilter_of(rules, own_names(self.settings))

    @deeply
    def analyse(self, matter: Mapping[Path, bytes]) -> None:
        """Analyse these modules, so that facts flow between files in whatever order they are checked.

        Files that import them are analysed too.
        """
        if not matter:
            return
        sources = {**matter, **self._callers_of(matter)}
        sources |= self.heirs.of(sources)
        self.linted.update(sources)
        with without_collector():
            for number, (path, source) in enumerate(self._in_order(sources)):
                self.on_progress(number, len(sources))
                try:
                    self._analyse(path, source)
                except Exception as error:  # reported when the file itself is checked
                    self._failed[path] = (source, error)
            gc.freeze()  # all of it is needed until the end

    def _callers_of(self, matter: Mapping[Path, bytes]) -> dict[Path, bytes]:
        """The files outside the run that import files of the run, with their contents."""
        if self._callers is None:
            self._callers = {} if self.sees_all else self._caller_search_for(matter).callers(self.may_matter)
        return self._callers

    def _caller_search_for(self, matter: Mapping[Path, bytes]) -> CallerSearch:
        """The search for these files, begun but not carried out; there is one per run."""
        if self._caller_search is None:
            from trl_lint.linter.files.callers import CallerSearch

            self._caller_search = CallerSearch(self.settings, self.roots, matter)
        return self._caller_search

    def may_matter(self, source: bytes) -> bool:
        """Whether the analysis can find anything in Python code with this content (a search in the bytes)."""
        return self._prefilter.may_matter(source)

    def check_code(self, path: Path, source: bytes) -> list[Finding]:
        """The findings of the analysis in Python code; see `check`."""
        found = self.report(path, source)
        if len(found) > 1:
            from trl_lint.linter.causes import one_per_cause

            found = one_per_cause(found, source)
        return [reported.finding for reported in found]

    @property
    def engines(self) -> ProjectEngines:
        """Which training engines the project is shown to run under; shared with the linters that check a fixed text."""
        if self._engines is None:
            self._engines = self._known_engines()
        return self._engines

    @engines.setter
    def engines(self, known: ProjectEngines) -> None:
        self._engines = known

    def _known_engines(self) -> ProjectEngines:
        from trl_lint.linter.execution.engines import ProjectEngines

        return ProjectEngines.of(self.settings, self.roots)

    def _in_order(self, sources: Mapping[Path, bytes]) -> list[tuple[Path, bytes]]:
        """The files with their contents, in the order in which to analyse them."""
        if len(sources) == 1:
            return [*sources.items()]
        from trl_lint.linter.files.import_order import importers_first

        return importers_first(self._tools()[0], sources)

    def _passed_over_files_with_findings(self) -> dict[Path, bytes]:
        """The files that do not matter but in which something was found, with their contents."""
        if self._project is None:
            return {}
        opened = self._project.opened
        unseen = (path for path in sorted(self._elsewhere) if path not in self.linted and self._without_library(path))
        found = {path: content for path in unseen if (content := opened.get(path)) is not None}
        passed_over = {path: content for path, content in found.items() if not self.may_matter(content)}
        return passed_over | {
            path: content for path, content in self.heirs.contents.items() if self._says_of_heir(path)
        }

    def _says_of_heir(self, path: Path) -> bool:
        """Whether something was found in a file that is analysed only for what it inherits."""
        _, _, found, _ = self._tools()[0].analysed.get(path, (None, None, (), ()))
        found = () if path in self.heirs.only_passing else found
        return bool(self._without_library(path)) or any(each[1].event.is_sure_without_library() for each in found)

    def _without_library(self, path: Path) -> list[RuleViolation]:
        """Violations that other files caused in a file that names no library: only those that hold without one."""
        found = self._elsewhere.get(path, ())
        return [each for each in found if each[1].event.is_sure_without_library()]

    def _matters_without_library(self, source: bytes) -> bool:
        """Whether a file is analysed only because it asks for its rank."""
        return not self._prefilter.names_library(source) and self.may_matter(source)

    def _located_in_passed_over(self, path: Path) -> list[LocatedViolation]:
        """Violations that other files caused in a file that was passed over and is not analysed itself."""
        found = self._without_library(path)
        located = self._located(found[0][1].module, found) if found else []
        return self._split_wanted(path, located)

    def _split_wanted(self, path: Path, found: Sequence[LocatedViolation]) -> list[LocatedViolation]:
        """The findings of a file that are wanted; the others are recorded as unasked."""
        wanted = [each for each in found if self.wants(each.rule, each.finding)]
        self.comments.unasked[path] = [each.finding for each in found if not self.wants(each.rule, each.finding)]
        return wanted

    @deeply
    def report(self, path: Path, source: bytes) -> list[LocatedViolation]:
        """The findings with their violations; see `check`."""
        with resource_errors(path):
            if path in self._elsewhere and path not in self.linted and not self.may_matter(source):
                return self._located_in_passed_over(path)
            if path not in self.linted:
                self.overlay[path] = source  # its importers must see this text
                self.analyse({path: source})
            module, found = self._analyse(path, source)
            found = [] if path in self.heirs.only_passing else found
            for other, content in list(self.found_from.get(path, {}).items()):
                self._analyse(other, content)
            found = [*found, *(each for each in self._elsewhere.get(path, ()) if each[1].module is module)]
            if found and (path in self.heirs.contents or self._matters_without_library(source)):
                found = [each for each in found if each[1].event.is_sure_without_library()]
            return self._split_wanted(path, self._located(module, found))

    @deeply
    def report_by(self, rules: Sequence[BaseRule], path: Path, source: bytes) -> list[LocatedViolation]:
        """The findings of other rules than the selected ones, without another analysis; requires `can_fix`."""
        with resource_errors(path):
            module, _ = self._analyse(path, source)
            analysed = self._tools()[0].analysed
            events = [event for each in (path, *self.found_from.get(path, ())) for event in analysed[each][3]]
            return self._located(module, [each for each in _check_events(rules, events) if each[1].module is module])

    def wants(self, rule: BaseRule, finding: Finding) -> bool:
        """Whether a finding is wanted."""
        return self.selection is None or self.selection.wants(rule, finding.consequence, finding.by_default)

    def _located(self, module: Module, found: Sequence[RuleViolation]) -> list[LocatedViolation]:
        if not found:
            return []
        from trl_lint.linter.execution.own_runs import with_run
        from trl_lint.linter.locate import located

        found = [
            (each[0], with_run(self._tools()[0], each[1])) for each in found if not self._is_correct_code(module, each)
        ]
        located_here = [self._judged(module, each) for each in located(module, found)]
        if not self.settings.per_file_ignores:
            return located_here
        ignores = ignored_in(self.settings, self.documents.file_of(module.path))
        return [
            each for each in located_here if not ignores(each.rule, each.finding.consequence, each.finding.by_default)
        ]

    def _is_correct_code(self, module: Module, found: RuleViolation) -> bool:
        """Whether other files show that the code is correct: each process has a run of its own, or only one exists."""
        from trl_lint.linter.execution.own_runs import is_of_own_run
        from trl_lint.linter.execution.without_group import is_without_group

        rule, violation = found
        event = violation.event
        if is_of_own_run(self._tools()[0], event):
            return True
        return not rule.fails_in_one_process(event) and is_without_group(module, event)

    def _judged(self, module: Module, found: LocatedViolation) -> LocatedViolation:
        """The finding, removed from the default set if its code is not known to run on several processes."""
        if not found.finding.by_default:
            return found
        from trl_lint.linter.execution.left_out import is_left_out

        in_cells = self.documents.starts_no_processes(module.path)
        return found.only_if_asked_for() if is_left_out(self._tools()[0], module, found, in_cells) else found

    def dependencies(self) -> Dependencies | None:
        """What the analysis has read on the machine so far; None if any of it has changed meanwhile."""
        from trl_lint.analysis.program.project.project import MAX_OPENED
        from trl_lint.linter.store.cache import digest
        from trl_lint.linter.store.dependencies import Dependencies, kinds_of

        project, _ = self._tools()
        callers, search = self._callers or {}, self._caller_search
        beside = {**callers, **self.heirs.contents}
        read = {path for path, content in project.opened.items() if content is not None}
        kinds = kinds_of({**project.exists, **(search.exists if search else {})}, [*project.analysed, *read])
        if kinds is None or self.overlay:
            return None
        return Dependencies(
            contents={
                str(path): None if content is None else digest(content)
                for path, content in (*project.opened.items(), *beside.items())
            },
            callers=sorted(map(str, beside)),
            kinds=kinds,
            small={str(path): size <= MAX_OPENED for path, size in project.sizes.items()},
            limit=MAX_OPENED,
            releases=dict(self._releases.looked_up),
            engines=self.engines.answers(),
            engines_from=self.engines.state(),
            importers=sorted(map(str, callers)),
            importers_from=search.digest if search else "",
        )

    @deeply
    def parsed(self, path: Path, source: bytes) -> Module:
        """The module of a content, parsed; it need not be analysed.

        Raises:
            SourceError: it can't be decoded or parsed.
        """
        return self._parse(self._tools()[0], path, source)

    @deeply
    def known(self, path: Path, source: bytes) -> list[Known]:
        """The facts recorded at the statements of a file that were asked about (`Module.asked`)."""
        from trl_lint.analysis.events import Known

        with resource_errors(path):
            module, _ = self._analyse(path, source)
        analysed = self._tools()[0].analysed.values()
        events = (event for _, _, _, events in analysed for event in events)
        return [event for event in events if isinstance(event, Known) and event.module is module]

    def _analyse(self, path: Path, source: bytes) -> tuple[Module, list[RuleViolation]]:
        """The parsed module and its violations; violations in other files are recorded for those files."""
        project, engine = self._tools()
        known = project.analysed.get(path)
        if known is not None and known[0] == source:
            return known[1], known[2]
        failed = self._failed.get(path)
        if failed is not None and failed[0] == source:
            raise failed[1]  # a second attempt would skip what the first one had started
        self.linted.add(path)
        with without_collector():
            module = self._parse(project, path, source)
            events = engine.analyse(module)
        return module, self._record_violations(path, source, module, events)

    def _record_violations(
        self, path: Path, source: bytes, module: Module, events: Sequence[Event]
    ) -> list[RuleViolation]:
        """The violations that the rules find in the events of a file's analysis; they are recorded as well."""
        in_this_file: list[RuleViolation] = []
        for rule, violation in _check_events(self._code_rules, events):
            if violation.module is module:
                in_this_file.append((rule, violation))
            else:
                self._elsewhere.setdefault(violation.module.path, []).append((rule, violation))
                self.found_from.setdefault(violation.module.path, {})[path] = source
        self._tools()[0].analysed[path] = (source, module, in_this_file, events)
        return in_this_file

    def _tools(self) -> tuple[Project, Any]:
        if self._project is None:
            from trl_lint.analysis.program.project.project import Project

            self._project = Project(self.roots)
            self._project.overlay = self.overlay
            self._project.trees = self.trees
            self._project.linted = self.linted
            self._project.engines_for = lambda path: self.engines.engines_for(path)
            events = None if self.can_fix else frozenset(by_event(self._code_rules)) | self._extra_events
            self._engine = self._new_engine(self._project, known_of(self.settings, self._releases), events)
        return self._project, self._engine

    def _new_engine(
        self, project: Project, releases: Mapping[str, str], events: frozenset[type[Event]] | None
    ) -> Engine:
        from trl_lint.analysis.interprocedural.entry_points import Engine

        return Engine(project, releases, events)

    def _parse(self, project: Project, path: Path, source: bytes) -> Module:
        import libcst as cst

        from trl_lint.analysis.program.project.nesting import TooDeep
        from trl_lint.analysis.program.project.project import DecodeError, decode

        known = project.loaded(path, source)
        if known is not None:
            return known
        try:
            text, _ = decode(source)
            return project.add(path, text, source)
        except DecodeError as error:
            raise SourceError(str(path), 1, 1, str(error)) from None
        except TooDeep as error:
            raise SourceError(str(path), error.line, 1, str(error), GIVEN_UP) from None
        except cst.ParserSyntaxError as error:
            from trl_lint.linter.files.sources import syntax_error

            raise syntax_error(path, source, error) from None
        except cst.CSTValidationError as error:
            raise SourceError(str(path), 1, 1, f"{type(error).__name__}: {error}") from None


def _check_events(rules: Sequence[BaseRule], events: Sequence[Event]) -> Iterator[RuleViolation]:
    """The violations that rules find in events; each rule sees the events of its own classes."""
    rules_of = by_event(rules)
    return (
        (rule, violation)
        for event in events
        for rule in rules_of.get(type(event), ())
        for violation in rule.check(event)
    )
