"""One file: read it, analyse it, ask the rules, and (for `--fix`) rewrite what they found.

LibCST, and all that needs it, is imported only once a file turns out to matter.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trl_lint.analysis.program.depth import TooDeep, deeply
from trl_lint.analysis.program.source_text import code_of
from trl_lint.config import ignored_rules
from trl_lint.findings import Applicability, Edit, Finding, Fix, Note, Position
from trl_lint.launch.parsers.readers import is_launch_file, may_start
from trl_lint.releases import Releases
from trl_lint.rules.base import Rule, Violation
from trl_lint.settings import Settings

if TYPE_CHECKING:
    from trl_lint.analysis.events import Event
    from trl_lint.analysis.program.project import Module, Project
    from trl_lint.domain.provenance import Step
    from trl_lint.launch.checker import Checked
    from trl_lint.launch.training.launch_project import LaunchProject as Launches
    from trl_lint.linter.dependencies import Dependencies


class SourceError(Exception):
    """A file that can't be read, decoded, parsed or analysed. `line` and `column` count from 1."""

    def __init__(self, path: str, line: int, column: int, message: str, verdict: str = "cannot parse") -> None:
        super().__init__(f"{path}:{line}:{column}: {verdict}: {message}")
        self.line = line
        self.column = column
        self.message = message
        self.verdict = verdict


# The verdict on a file that is valid, and that the analysis can't bear.
GIVEN_UP = "not analysed"


@dataclass(frozen=True, slots=True)
class FixResult:
    """What `--fix` did to one file: its new content, what was mended, what was not and why, what is left.

    applied, partly: findings of the text as it was, those that are gone and those that are only mended in part.
    uncovered: how many of those that are left could not be seen before.
    """

    source: bytes
    applied: tuple[Finding, ...]
    withheld: tuple[tuple[Finding, str], ...]
    remaining: tuple[Finding, ...]
    partly: tuple[Finding, ...] = ()
    uncovered: int = 0


@dataclass(frozen=True, slots=True)
class LocatedViolation:
    """A finding together with what it takes to mend it.

    violation is all that `parts`, the violations at one place, come to. A fix may mend some of the parts only.
    """

    finding: Finding
    rule: Rule
    violation: Violation
    parts: tuple[Violation, ...]


class Linter:
    """Lints files of one project. It keeps what it parsed, so files that import each other are read once."""

    def __init__(self, settings: Settings, roots: Sequence[Path], rules: Sequence[Rule]) -> None:
        self.settings = settings
        self.roots = tuple(roots)
        self.rules = tuple(rules)
        # Those that the analysis of Python code answers.
        self._code_rules = tuple(rule for rule in rules if not rule.launches)
        self._launch_rules = tuple(rule for rule in rules if rule.launches)
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
        # A file that uses a name of the user's own names its last part.
        self._own_needles = tuple(name.rpartition(".")[2].encode() for name in settings.own_names())
        self._project: Project | None = None
        self._engine: Any = None
        self._releases = versions_of(settings)
        # The contents that could not be analysed, and why.
        self._failed: dict[Path, tuple[bytes, Exception]] = {}
        # Violations that the analysis of one file found in another, by that file.
        self._elsewhere: dict[Path, list[tuple[Rule, Violation]]] = {}

    def matters(self, path: Path, source: bytes) -> bool:
        """Whether any selected rule can have a finding in this file (a search of bytes)."""
        return self.may_launch(path, source) or self.analyses(path, source)

    def may_launch(self, path: Path, source: bytes) -> bool:
        """Whether launch commands are looked for in this file."""
        return self.looks_for_launches and may_start(path, source)

    @property
    def looks_for_launches(self) -> bool:
        """Whether any selected rule is about launch commands."""
        return bool(self._launch_rules)

    def analyses(self, path: Path, source: bytes) -> bool:
        """Whether this file is Python code that the analysis looks at."""
        return not is_launch_file(path, source) and self.may_matter(source)

    def may_matter(self, source: bytes) -> bool:
        """Whether the analysis can find anything in Python code with this content (a search of bytes)."""
        return bool(self._code_rules) and self._has_needles(source) and self._has_needles(code_of(source))

    def _has_needles(self, source: bytes) -> bool:
        # What a name of the user's own stands for may be a library, a collective or a log: it is in every group.
        if any(needle in source for needle in self._own_needles):
            return True
        groups = {group for rule in self._code_rules for group in rule.prefilter}
        present = {group for group in groups if any(needle in source for needle in group)}
        return any(present.issuperset(rule.prefilter) for rule in self._code_rules)

    def check(self, path: Path, source: bytes) -> list[Finding]:
        """All findings of the selected rules in `source`, sorted by place; suppressions are not applied here.

        Raises:
            SourceError: the text can't be decoded or parsed.
        """
        if not self.may_launch(path, source):
            return [] if is_launch_file(path, source) else self.check_code(path, source)
        found = self.check_code(path, source) if self.analyses(path, source) else []
        found += [each.finding for each in self.check_launches(path, source).launches]
        return sorted(found, key=lambda each: each.sort_key)

    def check_code(self, path: Path, source: bytes) -> list[Finding]:
        """What the analysis finds in Python code; see `check`."""
        return [reported.finding for reported in self.report(path, source)]

    def check_launches(self, path: Path, source: bytes) -> Checked:
        """What is wrong about the launch commands in a file of any kind, and what could not be looked at."""
        from trl_lint.launch.checker import Checked, checked

        if self.settings.per_file_ignores and ignored_rules(self.settings, path, self._launch_rules):
            return Checked("", ())
        if self._last is None or self._last[:2] != (path, source):
            self._last = (path, source, checked(path, source, self.launches))
        return self._last[2]

    @property
    def launches(self) -> Launches:
        """What launch commands of this project start, as far as it is known already."""
        if self._launches is None:
            from trl_lint.launch.training.launch_project import LaunchProject

            self._launches = LaunchProject.of(self.settings, self.roots, self.overlay)
        return self._launches

    def remark(self, path: Path, source: bytes) -> str:
        """Why a file, or a part of it, was not looked at for launch commands; "" if all was."""
        return self.check_launches(path, source).remark if self.may_launch(path, source) else ""

    @deeply
    def prepare(self, files: Iterable[tuple[Path, bytes]]) -> None:
        """Analyse these files, so that what one of them means for another is known whatever their order."""
        matter = sorted((path, source) for path, source in files if self.analyses(path, source))
        if matter:
            self.linted.update(path for path, _ in matter)
        with _without_collector():
            for path, source in matter:
                try:
                    self._analyse(path, source)
                except Exception as error:  # said when the file itself is checked
                    self._failed[path] = (source, error)
            if matter:
                gc.freeze()  # all of it is needed until the end

    @deeply
    def report(self, path: Path, source: bytes) -> list[LocatedViolation]:
        """The findings with their violations; see `check`."""
        with _given_up(path):
            module, found = self._analyse(path, source)
            for other, content in list(self.found_from.get(path, {}).items()):
                self._analyse(other, content)
            found = [*found, *(each for each in self._elsewhere.get(path, ()) if each[1].module is module)]
            return self._reported(module, found)

    @deeply
    def report_by(self, rules: Sequence[Rule], path: Path, source: bytes) -> list[LocatedViolation]:
        """What other rules than the selected say of a file, without another analysis."""
        with _given_up(path):
            module, _ = self._analyse(path, source)
            analysed = self._tools()[0].analysed
            events = [event for each in (path, *self.found_from.get(path, ())) for event in analysed[each][3]]
            return self._reported(module, [each for each in _answers(rules, events) if each[1].module is module])

    def _reported(self, module: Module, found: Sequence[tuple[Rule, Violation]]) -> list[LocatedViolation]:
        if found and self.settings.per_file_ignores:
            ignored = ignored_rules(self.settings, module.path, {rule for rule, _ in found})
            found = [each for each in found if each[0] not in ignored]
        return _located(module, found) if found else []

    def fix(self, path: Path, source: bytes, *, unsafe: bool = False) -> FixResult:
        """Apply the fixes that pass the gate; `unsafe` also applies the unsafe ones."""
        from trl_lint.linter.fixing import fix, fix_launches

        if self.may_launch(path, source):
            return fix_launches(self, path, source, unsafe=unsafe)
        if is_launch_file(path, source):
            return FixResult(source, (), (), ())
        return fix(self, path, source, unsafe=unsafe)

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
        )

    # --- analysis ---

    def _analyse(self, path: Path, source: bytes) -> tuple[Module, list[tuple[Rule, Violation]]]:
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
        here: list[tuple[Rule, Violation]] = []
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
            self._engine = Engine(self._project, known_of(self.settings, self._releases))
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
            raise _syntax_error(path, source, error) from None
        except cst.CSTValidationError as error:
            raise SourceError(str(path), 1, 1, f"{type(error).__name__}: {error}") from None


def _answers(rules: Sequence[Rule], events: Sequence[Event]) -> Iterator[tuple[Rule, Violation]]:
    """What rules say of events."""
    return ((rule, violation) for event in events for rule in rules for violation in rule.visit(event))


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


def _syntax_error(path: Path, source: bytes, error: Any) -> SourceError:
    """Where a text stops being Python: in Python's own words, which are better known than the parser's."""
    from trl_lint.linter.sources import python_error

    known = python_error(source)
    if known is not None:
        return SourceError(str(path), *known)
    message = str(error.message).partition("\n")[0]
    return SourceError(str(path), max(error.raw_line, 1), error.raw_column + 1, message or "syntax error")


# --- versions -------------------------------------------------------------------------------------------


def versions_of(settings: Settings) -> Releases:
    """The releases of trl and transformers that the user's code runs with, as far as they are known."""
    configured = {"trl": settings.target_trl, "transformers": settings.target_transformers}
    return Releases({name: version for name, version in configured.items() if version})


def known_of(settings: Settings, releases: Releases | None = None) -> Mapping[str, str]:
    """The releases in use, with what the settings say of names of the user's own."""
    versions = versions_of(settings) if releases is None else releases
    if not settings.own_names():
        return versions
    from trl_lint.knowledge.custom import rows_of
    from trl_lint.knowledge.library import Extended

    return Extended(versions, rows_of(settings))


# --- places ---------------------------------------------------------------------------------------------


def _located(module: Module, found: Sequence[tuple[Rule, Violation]]) -> list[LocatedViolation]:
    """Give violations their places; one finding per place and rule."""
    groups: dict[tuple[str, int], list[tuple[Rule, Violation]]] = {}
    for rule, violation in found:
        groups.setdefault((rule.code, id(violation.node)), []).append((rule, violation))
    places = {module: positions(module)}
    reported = [_finding(places, group) for group in groups.values()]
    return sorted(reported, key=lambda each: each.finding.sort_key)


def positions(module: Module) -> Mapping[Any, Any]:
    """The range of every node; computed only where something is reported."""
    if module.positions is None:
        from trl_lint.linter.positions import Positions

        module.positions = Positions(module.tree, module.text)
    return module.positions


_CAUTION = [None, Applicability.SAFE, Applicability.UNSAFE, Applicability.DISPLAY]


def _combined(violations: Sequence[Violation]) -> Violation:
    """Several violations at one place: their fix mends all of them that can be, and is as safe as the least safe.

    A metric that is reached in several ways is mended in all of them or not at all.
    """
    beyond_help = {each.metric for each in violations if each.plan is None}
    mended = [each for each in violations if each.metric not in beyond_help]
    worst = max(mended or violations, key=lambda each: _CAUTION.index(each.applicability))
    if len(mended) < 2:
        return worst
    from trl_lint.fixes.support.edits import merged

    plan = merged(each.plan for each in (worst, *mended))
    if plan is None:
        reason = "it is reached in several ways, which ask for different fixes"
        return replace(worst, plan=None, applicability=Applicability.DISPLAY, reason=reason)
    return replace(worst, plan=plan)


def _finding(places: dict[Any, Any], group: list[tuple[Rule, Violation]]) -> LocatedViolation:
    from trl_lint.analysis.events import steps

    rule, parts = group[0][0], tuple(each for _, each in group)
    violation = _combined(parts)
    module = violation.module
    where = places[module][violation.node]
    because = []
    for step in steps(violation.provenance):
        if step.module not in places:
            places[step.module] = positions(step.module)
        place = places[step.module].get(step.node)
        if place is not None:
            start = Position(place.start.line, place.start.column + 1)
            because.append(Note(_said(step), str(step.module.path), start))
    finding = Finding(
        code=rule.code,
        name=rule.name,
        message=_merged(parts),
        path=str(module.path),
        start=Position(where.start.line, where.start.column + 1),
        end=_end(places[module], violation.node),
        because=tuple(dict.fromkeys(because)),
        help=_help(rule, violation, where.start.line),
        fix=_fix(rule, violation),
    )
    return LocatedViolation(finding, rule, violation, parts)


def _end(places: Mapping[Any, Any], node: Any) -> Position:
    """Where a finding ends: at the end of its expression or line, never behind the block of a statement."""
    from trl_lint.analysis.program.syntax import heading

    last = heading(node)
    if last is None:
        start = places[node].start
        return Position(start.line, start.column + 1 + len("except" if hasattr(node, "type") else "try"))
    return Position(places[last].end.line, places[last].end.column + 1)


def _help(rule: Rule, violation: Violation, line: int) -> str:
    """How to mend it; in a copy of a released trainer, the release that is mended as well."""
    from trl_lint.linter import upstream

    if not upstream.concerns(rule.code):
        return violation.help
    row = upstream.mended(rule.code, _functions_around(violation), line)
    if row is None:
        return violation.help
    said = f"this is `{row.symbol}` as trl had it up to {row.last}: {row.fixed} has it mended ({row.pull})"
    return f"{violation.help}; {said}" if violation.help else said


def _functions_around(violation: Violation) -> Iterator[tuple[int, Sequence[str]]]:
    """The line of the `def` of each function around a violation, and its lines, the innermost first."""
    from libcst import FunctionDef

    from trl_lint.analysis.program.syntax import ancestors

    module = violation.module
    places, lines = positions(module), _lines(module)
    for node in reversed((*ancestors(module.tree, violation.node), violation.node)):
        if isinstance(node, FunctionDef):
            first, last = places[node.name].start.line, places[node].end.line
            yield first, lines[first - 1 : last]


@lru_cache(maxsize=4)
def _lines(module: Module) -> Sequence[str]:
    return module.text.splitlines()


def _said(step: Step) -> str:
    """The text of a step, with the source of its node on one line where the text asks for it."""
    if "{}" not in step.text:
        return step.text
    source = " ".join(step.module.tree.code_for_node(step.node).split())
    return step.text.replace("{}", source if len(source) <= 60 else f"{source[:57]}...")


def _merged(violations: Sequence[Violation]) -> str:
    """Several metrics of one statement are one finding that names them all."""
    message = violations[0].message
    names = list(dict.fromkeys(violation.metric for violation in violations if violation.metric))
    if len(names) < 2:
        return message
    listed = ", ".join(f"`{name}`" for name in names[:5]) + (", …" if len(names) > 5 else "")
    return message.replace(f"`{names[0]}` is", f"{listed} are", 1).replace(" and reaches ", " and reach ", 1)


def _fix(rule: Rule, violation: Violation) -> Fix | None:
    if violation.applicability is None:
        return None
    from functools import partial

    edits = partial(_edits, rule, violation) if violation.plan is not None else tuple
    return Fix(violation.applicability, violation.title, edits, violation.reason)


@deeply
def _edits(rule: Rule, violation: Violation) -> tuple[Edit, ...]:
    from trl_lint.linter.fixing import edits_between, transformed
    from trl_lint.linter.regenerating import written

    return edits_between(written(violation.module).code, transformed(rule, [violation]))
