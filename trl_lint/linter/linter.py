"""One file: read it, analyse it, ask the rules, and (for `--fix`) rewrite what they found.

LibCST, and all that needs it, is imported only once a file turns out to matter.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trl_lint.analysis.program.depth import TooDeep, deeply
from trl_lint.config import Selection, ignored_in
from trl_lint.findings import Finding
from trl_lint.launch.parsers.readers import is_launch_file, may_start
from trl_lint.linter.documents import Documents
from trl_lint.linter.prefilter import Prefilter
from trl_lint.linter.results import GIVEN_UP, CommentContext, FixResult, SourceError
from trl_lint.linter.versions import known_of, own_names, versions_of
from trl_lint.rules import by_event
from trl_lint.rules.base import BaseRule, LaunchRule, Rule
from trl_lint.settings import Settings

if TYPE_CHECKING:
    from trl_lint.analysis.events import Event, Known
    from trl_lint.analysis.program.project import Module, Project
    from trl_lint.launch.checker import Checked
    from trl_lint.launch.training.launch_project import LaunchProject as Launches
    from trl_lint.linter.cells.document import Document
    from trl_lint.linter.dependencies import Dependencies
    from trl_lint.linter.engines import ProjectEngines
    from trl_lint.linter.locate import LocatedViolation, RuleViolation


class Linter:
    """Lints files of one project. It keeps what it parsed, so files that import each other are read once.

    mends: whether it may be asked for fixes, for which it watches what all rules ask for: a fix must not bring a
    finding of another rule. Without, only what the selected rules ask for is watched. selection: which findings of the
    rules are asked for; None: all. asks: events that somebody asks for besides the rules (see `known`).
    """

    def __init__(
        self,
        settings: Settings,
        roots: Sequence[Path],
        rules: Sequence[BaseRule],
        *,
        mends: bool = True,
        selection: Selection | None = None,
        asks: Iterable[type[Event]] = (),
    ) -> None:
        self.settings, self.selection = settings, selection
        self._asks = frozenset(asks)
        self.mends = mends
        self.roots = tuple(roots)
        self.rules = tuple(rules)
        # Those that the analysis of Python code answers, and the others.
        self._code_rules = tuple(rule for rule in rules if isinstance(rule, Rule))
        self._launch_rules = tuple(rule for rule in rules if isinstance(rule, LaunchRule))
        self._prefilter = Prefilter(self._code_rules, own_names(settings))
        self._launches: Launches | None = None
        # The file that was last looked through for launch commands, and what came of it.
        self._last: tuple[Path, bytes, Checked] | None = None
        # Contents that stand in for what is on the disk (an editor's unsaved buffers).
        self.overlay: dict[Path, bytes] = {}
        # What is parsed already, shared with the linters that look at a mended text.
        self.trees: dict[Path, Any] = {}
        # Also shared with those: the files that are linted, and by file the contents of the others whose analysis found
        # something in it. Without them a finding that lives by another file would be gone as soon as a fix is tried.
        self.linted: set[Path] = set()
        self.found_from: dict[Path, dict[Path, bytes]] = {}
        self._engines: ProjectEngines | None = None
        self._project: Project | None = None
        self._engine: Any = None
        self._releases = versions_of(settings)
        self._passed_over: frozenset[Path] = frozenset()
        # The contents that could not be analysed, and why.
        self._failed: dict[Path, tuple[bytes, Exception]] = {}
        self.comments = CommentContext()
        self.documents = Documents(settings, self._prefilter)  # shared, too
        # Violations that the analysis of one file found in another, by that file.
        self._elsewhere: dict[Path, list[RuleViolation]] = {}

    def matters(self, path: Path, source: bytes) -> bool:
        """Whether any selected rule can have a finding in this file (a search of bytes)."""
        if self.may_launch(path, source) or self.analyses(path, source):
            return True
        document = self.document(path, source)
        return document is not None and document.remark != ""

    def may_launch(self, path: Path, source: bytes) -> bool:
        """Whether launch commands are looked for in this file."""
        return self.looks_for_launches and may_start(path, source)

    @property
    def looks_for_launches(self) -> bool:
        """Whether any selected rule is about launch commands."""
        return bool(self._launch_rules)

    def analyses(self, path: Path, source: bytes) -> bool:
        """Whether this file is, or has in parts of it, Python code that the analysis looks at."""
        return bool(self.modules(path, source))

    def modules(self, path: Path, source: bytes) -> dict[Path, bytes]:
        """The Python code of a file that the analysis looks at: its own, or that of its parts, by their paths."""
        document = self.document(path, source)
        if document is None:
            is_code = not is_launch_file(path, source) and self.may_matter(source)
            return {path: source} if is_code else {}
        return {each.path: each.source for each in document.sound if self.may_matter(each.source)}

    def document(self, path: Path, source: bytes) -> Document | None:
        """The parts of a file that holds its Python in parts; None for all other files."""
        return self.documents.of(path, source, self.may_matter)

    def may_matter(self, source: bytes) -> bool:
        """Whether the analysis can find anything in Python code with this content (a search of bytes)."""
        return self._prefilter.may_matter(source)

    def check(self, path: Path, source: bytes) -> list[Finding]:
        """All findings of the selected rules in `source`, sorted by place; suppressions are not applied here.

        Raises:
            SourceError: the text can't be decoded or parsed.
        """
        if path in self.comments.silent:
            return []
        found = self._check_code_of(path, source)
        if not self.may_launch(path, source):
            return found
        found += [each.finding for each in self.check_launches(path, source).launches]
        return sorted(found, key=lambda each: each.sort_key)

    def _check_code_of(self, path: Path, source: bytes) -> list[Finding]:
        """What the analysis finds in the Python code of a file of any kind, at places in the file."""
        document = self.document(path, source)
        if document is not None:
            from trl_lint.linter.cells import linting

            return linting.check(self, document)
        if is_launch_file(path, source) or (self.may_launch(path, source) and not self.may_matter(source)):
            return []
        return [self.documents.told(each) for each in self.check_code(path, source)]

    def check_code(self, path: Path, source: bytes) -> list[Finding]:
        """What the analysis finds in Python code; see `check`."""
        found = self.report(path, source)
        if len(found) > 1:
            from trl_lint.linter.causes import one_per_cause

            found = one_per_cause(found)
        return [reported.finding for reported in found]

    def check_launches(self, path: Path, source: bytes) -> Checked:
        """What is wrong about the launch commands in a file of any kind, and what could not be looked at."""
        from trl_lint.launch.checker import checked

        if self._last is None or self._last[:2] != (path, source):
            found = checked(path, source, self.launches)
            wanted = tuple(each for each in found.launches if self._is_wanted(path, each.finding))
            others = [each.finding for each in found.launches if each not in wanted]
            self._last = (path, source, replace(found, launches=wanted))
            self.comments.unasked_launches[path] = others
        return self._last[2]

    def unasked(self, path: Path) -> list[Finding]:
        """Of a file that was just checked, the findings of the selected rules that were not asked for."""
        return [*self.comments.unasked.get(path, ()), *self.comments.unasked_launches.get(path, ())]

    def _is_wanted(self, path: Path, finding: Finding) -> bool:
        """Whether a finding about a launch command is asked for."""
        kind = finding.consequence, finding.by_default
        return any(self.wants(rule, finding) for rule in self._launch_rules if rule.code == finding.code) and not (
            self.settings.per_file_ignores and ignored_in(self.settings, path)(self._launch_rules[0], *kind)
        )

    @property
    def engines(self) -> ProjectEngines:
        """Which engines the projects are shown to run under; shared with the linters that look at a mended text."""
        if self._engines is None:
            from trl_lint.linter.engines import ProjectEngines

            self._engines = ProjectEngines.of(self.settings, self.roots)
        return self._engines

    @engines.setter
    def engines(self, known: ProjectEngines) -> None:
        self._engines = known

    @property
    def launches(self) -> Launches:
        """What launch commands of this project start, as far as it is known already."""
        if self._launches is None:
            from trl_lint.launch.training.launch_project import LaunchProject

            self._launches = LaunchProject.of(self.settings, self.roots, self.overlay)
        return self._launches

    def remark(self, path: Path, source: bytes) -> str:
        """Why a file, or a part of it, was not looked at; "" if all was."""
        document = self.document(path, source)
        if document is not None and document.remark:
            return document.remark
        return self.check_launches(path, source).remark if self.may_launch(path, source) else ""

    def pass_over(self, paths: Iterable[Path]) -> None:
        """These are linted as well as what is prepared, but name nothing that any rule could be about."""
        self._passed_over = frozenset(paths)

    @deeply
    def prepare(self, files: Iterable[tuple[Path, bytes]]) -> None:
        """Analyse these files, so that what one of them means for another is known whatever their order."""
        matter = {name: code for path, source in files for name, code in self.modules(path, source).items()}
        if matter:
            self.linted.update(matter)
        with _without_collector():
            for path, source in self._in_order(matter) if matter else ():
                try:
                    self._analyse(path, source)
                except Exception as error:  # said when the file itself is checked
                    self._failed[path] = (source, error)
            if matter:
                gc.freeze()  # all of it is needed until the end

    def _in_order(self, sources: Mapping[Path, bytes]) -> list[tuple[Path, bytes]]:
        """The files with their contents in the order in which they are analysed."""
        from trl_lint.linter.import_order import importers_first

        return importers_first(self._tools()[0], sources)

    def found_beside(self) -> dict[Path, bytes]:
        """Of the files that were passed over, those in which the analysis of others has found something."""
        return {path: content for path, content in self._beside().items() if path in self._passed_over}

    def _beside(self) -> dict[Path, bytes]:
        """The files that do not matter in which something was found, with their contents."""
        if self._project is None:
            return {}
        opened = self._project.opened
        unseen = (path for path in sorted(self._elsewhere) if path not in self.linted and self._without_library(path))
        found = {path: content for path in unseen if (content := opened.get(path)) is not None}
        return {path: content for path, content in found.items() if not self.may_matter(content)}

    def _without_library(self, path: Path) -> list[RuleViolation]:
        """What others have found in a file that names no library: such as can be there without one."""
        return [each for each in self._elsewhere.get(path, ()) if each[1].event.anywhere]

    def _located_beside(self, path: Path) -> list[LocatedViolation]:
        """What others have found in a file that was passed over, which is not analysed itself."""
        found = self._without_library(path)
        located = self._located(found[0][1].module, found) if found else []
        return self._asked_for(path, located)

    def _asked_for(self, path: Path, found: Sequence[LocatedViolation]) -> list[LocatedViolation]:
        """The findings of a file that are asked for; the others are put aside."""
        asked = [each for each in found if self.wants(each.rule, each.finding)]
        self.comments.unasked[path] = [each.finding for each in found if not self.wants(each.rule, each.finding)]
        return asked

    @deeply
    def report(self, path: Path, source: bytes) -> list[LocatedViolation]:
        """The findings with their violations; see `check`."""
        with _given_up(path):
            if path in self._elsewhere and path not in self.linted and not self.may_matter(source):
                return self._located_beside(path)
            module, found = self._analyse(path, source)
            for other, content in list(self.found_from.get(path, {}).items()):
                self._analyse(other, content)
            found = [*found, *(each for each in self._elsewhere.get(path, ()) if each[1].module is module)]
            return self._asked_for(path, self._located(module, found))

    @deeply
    def report_by(self, rules: Sequence[BaseRule], path: Path, source: bytes) -> list[LocatedViolation]:
        """What other rules than the selected say of a file, without another analysis. It is a linter that mends."""
        with _given_up(path):
            module, _ = self._analyse(path, source)
            analysed = self._tools()[0].analysed
            events = [event for each in (path, *self.found_from.get(path, ())) for event in analysed[each][3]]
            return self._located(module, [each for each in _answers(rules, events) if each[1].module is module])

    def wants(self, rule: BaseRule, finding: Finding) -> bool:
        """Whether a finding is one of those that are asked for."""
        return self.selection is None or self.selection.wants(rule, finding.consequence, finding.by_default)

    def _located(self, module: Module, found: Sequence[RuleViolation]) -> list[LocatedViolation]:
        if not found:
            return []
        from trl_lint.linter.locate import located

        if not self.settings.per_file_ignores:
            return located(module, found)
        ignores = ignored_in(self.settings, self.documents.file_of(module.path))
        return [
            each
            for each in located(module, found)
            if not ignores(each.rule, each.finding.consequence, each.finding.by_default)
        ]

    def fix(self, path: Path, source: bytes, *, unsafe: bool = False) -> FixResult:
        """Apply the fixes that pass the gate; `unsafe` also applies the unsafe ones."""
        from trl_lint.linter.fixing import fix_launches

        if path in self.comments.silent:
            return FixResult(source, (), (), ())
        launches = self.may_launch(path, source)
        first = self._fix_code_of(path, source, launches=launches, unsafe=unsafe)
        return fix_launches(self, path, source, first, unsafe=unsafe) if launches else first

    def _fix_code_of(self, path: Path, source: bytes, *, launches: bool, unsafe: bool) -> FixResult:
        """What `fix` does to the Python code of a file of any kind."""
        from trl_lint.linter.fixing import fix

        document = self.document(path, source)
        if document is None and (is_launch_file(path, source) or (launches and not self.may_matter(source))):
            return FixResult(source, (), (), ())
        if document is None and not self.documents.parts:
            return fix(self, path, source, unsafe=unsafe)
        from trl_lint.linter.cells import linting

        if document is not None:
            return linting.fix(self, document, unsafe=unsafe)
        return linting.told_result(self, fix(self, path, source, unsafe=unsafe))

    def dependencies(self) -> Dependencies | None:
        """What the analysis so far has found on the machine; None when it has changed meanwhile."""
        from trl_lint.analysis.program.project import MAX_OPENED
        from trl_lint.linter.cache import digest
        from trl_lint.linter.dependencies import Dependencies, kinds_of

        project, _ = self._tools()
        read = {path for path, content in project.opened.items() if content is not None}
        kinds = kinds_of(project.exists, [*project.analysed, *read])
        if kinds is None or self.overlay:
            return None
        return Dependencies(
            contents={
                str(path): None if content is None else digest(content) for path, content in project.opened.items()
            },
            kinds=kinds,
            small={str(path): size <= MAX_OPENED for path, size in project.sizes.items()},
            limit=MAX_OPENED,
            releases=dict(self._releases.asked),
            engines=self.engines.answers(),
        )

    @deeply
    def parsed(self, path: Path, source: bytes) -> Module:
        """The module of a content, parsed and not analysed yet, if nobody has asked for that before.

        Raises:
            SourceError: it can't be decoded or parsed.
        """
        return self._parse(self._tools()[0], path, source)

    @deeply
    def known(self, path: Path, source: bytes) -> list[Known]:
        """What is known at the statements of a file that somebody asks about (`Module.asked`)."""
        from trl_lint.analysis.events import Known

        with _given_up(path):
            module, _ = self._analyse(path, source)
        analysed = self._tools()[0].analysed.values()
        events = (event for _, _, _, events in analysed for event in events)
        return [event for event in events if isinstance(event, Known) and event.module is module]

    # --- analysis ---

    def _analyse(self, path: Path, source: bytes) -> tuple[Module, list[RuleViolation]]:
        """The parsed module and what the rules say of it; violations in other files are put aside for those."""
        project, engine = self._tools()
        known = project.analysed.get(path)
        if known is not None and known[0] == source:
            return known[1], known[2]
        failed = self._failed.get(path)
        if failed is not None and failed[0] == source:
            raise failed[1]  # a second attempt would skip what the first had begun
        self.linted.add(path)
        with _without_collector():
            module = self._parse(project, path, source)
            events = engine.analyse(module)
        here: list[RuleViolation] = []
        for rule, violation in _answers(self._code_rules, events):
            if violation.module is module:
                here.append((rule, violation))
            else:
                self._elsewhere.setdefault(violation.module.path, []).append((rule, violation))
                self.found_from.setdefault(violation.module.path, {})[path] = source
        project.analysed[path] = (source, module, here, events)
        return module, here

    def _tools(self) -> tuple[Project, Any]:
        if self._project is None:
            from trl_lint.analysis.interprocedural.entry_points import Engine
            from trl_lint.analysis.program.project import Project

            self._project = Project(self.roots)
            self._project.overlay = self.overlay
            self._project.trees = self.trees
            self._project.linted = self.linted
            self._project.engines_for = lambda path: self.engines.engines_for(path)
            events = None if self.mends else frozenset(by_event(self._code_rules)) | self._asks
            self._engine = Engine(self._project, known_of(self.settings, self._releases), events)
        return self._project, self._engine

    def _parse(self, project: Project, path: Path, source: bytes) -> Module:
        import libcst as cst

        from trl_lint.analysis.program.project import DecodeError, decode

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
            from trl_lint.linter.sources import syntax_error

            raise syntax_error(path, source, error) from None
        except cst.CSTValidationError as error:
            raise SourceError(str(path), 1, 1, f"{type(error).__name__}: {error}") from None


def _answers(rules: Sequence[BaseRule], events: Sequence[Event]) -> Iterator[RuleViolation]:
    """What rules say of events: each is asked about those of its own classes."""
    asked = by_event(rules)
    return (
        (rule, violation) for event in events for rule in asked.get(type(event), ()) for violation in rule.check(event)
    )


@contextmanager
def _given_up(path: Path) -> Iterator[None]:
    """Say in the user's words that a file asks for more than there is."""
    try:
        yield
    except RecursionError:
        raise SourceError(str(path), 1, 1, "nested too deeply", GIVEN_UP) from None
    except MemoryError:
        raise SourceError(str(path), 1, 1, "it takes more memory than there is", GIVEN_UP) from None


@contextmanager
def _without_collector() -> Iterator[None]:
    """Trees are large and free of cycles: looking through them for garbage costs as much as parsing them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
