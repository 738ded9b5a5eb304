"""The flake8 plugin: the findings of `trl-lint` in the same files, under the codes TRL001 and following.

flake8 loads it in every run, so nothing heavy is imported for files without training code.
"""

from __future__ import annotations

import ast
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from trl_lint import __version__, files, plain
from trl_lint.setting_files import NAMES

if TYPE_CHECKING:
    from flake8.options.manager import OptionManager

    from trl_lint.config import Selection
    from trl_lint.findings import Finding
    from trl_lint.linter.linter import Linter
    from trl_lint.linter.runner import FileResult
    from trl_lint.rules.cards import Card
    from trl_lint.settings import Settings

STDIN = "-"


class Plugin:
    """Created by flake8 for each file. All files of one flake8 run share a session."""

    name = "trl-lint"
    version = __version__
    session: ClassVar[LintSession]

    def __init__(self, tree: ast.AST, lines: Sequence[str], filename: str) -> None:
        # flake8 treats a plugin that takes the tree as one for whole files.
        self.lines = lines
        self.filename = filename

    @classmethod
    def parse_options(cls, manager: OptionManager, options: Namespace, filenames: Sequence[str] | None = None) -> None:
        """Called once, before flake8 starts its processes: all of them share the results computed here."""
        cls.session = LintSession(options)
        if _starts_processes(options):
            cls.session.lint_all()

    def run(self) -> Iterator[tuple[int, int, str, type]]:
        for line, column, text in self.session.lint(self.filename, "".join(self.lines)):
            yield line, column, text, type(self)


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The result for a text: the findings as flake8 wants them (line, column counted from 0, code and message)."""

    text: str
    findings: tuple[tuple[int, int, str], ...]
    problem: str | None


class LintSession:
    """One run of flake8.

    All files that flake8 checks are analysed together, so the findings do not depend on which process checks which
    file. An unsaved buffer is analysed with the files on disk that it imports, and that import it.
    """

    def __init__(self, options: Namespace) -> None:
        self.options = options
        self._request: tuple[object, ...] | None = None
        self._begin()

    def _begin(self) -> None:
        """Start again if flake8 asks for something else than before: its Python interface may change the options."""
        options = self.options
        chosen = (options.select, options.extend_select, options.ignore, options.extend_ignore)
        request = (tuple(options.filenames), *chosen, options.disable_noqa)
        if request != self._request:
            self._request = request
            self._shows = _shown(options)
            self._shows_any = any(self._shows(card.code) for card in _known_cards())
            self._folders: dict[Path, Settings] = {}
            self._linters: dict[Path | None, Linter] = {}
            self._outcomes: dict[Path, FileOutcome] | None = None

    def lint(self, filename: str, text: str) -> Sequence[tuple[int, int, str]]:
        """The findings in the text that flake8 has for a file.

        Raises:
            flake8.exceptions.ExecutionError: the settings are invalid, or a package is missing.
        """
        try:
            return self._found(filename, text)
        except ModuleNotFoundError as error:
            from trl_lint.linter.ending import missing_package_message

            raise _stop(missing_package_message(error)) from None

    def _found(self, filename: str, text: str) -> Sequence[tuple[int, int, str]]:
        self._begin()
        if not self._shows_any:
            return ()
        if self._outcomes is None:
            self.lint_all()
        path = Path(os.path.abspath(filename))
        source = encoded(text)
        if not self._linter(path).matters(path, source):
            return ()
        # If a file is requested again, it may have changed.
        outcome = (self._outcomes or {}).pop(path, None)
        if outcome is None or outcome.text != text:
            outcome = self._lint_alone(path, source)
        if outcome.problem:
            print(plain.line(f"trl-lint: {outcome.problem}"), file=sys.stderr)
        return outcome.findings

    def lint_all(self) -> None:
        """Lint all files that flake8 was asked to check."""
        self._outcomes = {}
        for root, paths in self._relevant_files().items():
            with suppress(Exception):  # each file is then linted alone, and reported if it fails
                # The linter is no longer needed, nor are the trees that it parsed.
                self._outcomes.update(self._lint_project(self._linters.pop(root), sorted(paths)))

    def _lint_project(self, linter: Linter, paths: Sequence[Path]) -> Iterator[tuple[Path, FileOutcome]]:
        from trl_lint.linter.runner import run

        for result in run(paths, linter, self._check):
            yield result.path, _outcome(result)

    def _lint_alone(self, path: Path, source: bytes) -> FileOutcome:
        from trl_lint.linter.runner import FileResult, run_one

        if self._excluded(path):
            return _outcome(FileResult(path, source))
        return _outcome(run_one(path, source, self._new_linter(path), self._check))

    def _check(self, linter: Linter, path: Path, source: bytes) -> FileResult:
        from trl_lint.linter.comments.presence import may_silence
        from trl_lint.linter.results import SourceError
        from trl_lint.linter.runner import FileResult

        try:
            found = linter.check(path, source)
        except SourceError:  # flake8 reports it itself
            return FileResult(path, source)
        if not self.options.disable_noqa and may_silence(source):
            from trl_lint.linter.comments.suppressions import split

            found, _ = split(found, source)
        result = FileResult(path, source, tuple(found))
        if linter.settings.baseline:
            from trl_lint.linter.suppression.baseline import without_known

            (result,) = without_known([result], linter)
        return result

    # --- which files, which rules, which settings ---

    def _relevant_files(self) -> dict[Path | None, list[Path]]:
        """The files that matter, by project; includes projects without any."""
        projects: dict[Path | None, list[Path]] = {}
        for name in _files(self.options) if self._shows_any else ():
            path = Path(os.path.abspath(name))
            try:
                source = files.read(path)
            except OSError:  # flake8 reports it itself
                continue
            linter = self._linter(path)
            paths = projects.setdefault(linter.settings.root, [])
            if linter.matters(path, source) and not self._excluded(path):
                paths.append(path)
        return projects

    def _excluded(self, path: Path) -> bool:
        """Whether the settings exclude a file; flake8 does not know them."""
        from trl_lint.linter.files.discovery import matches

        settings = self._settings(path)
        return bool(settings.exclude) and matches(path, root=settings.root, exclude=settings.exclude)

    def _settings(self, path: Path) -> Settings:
        return self._settings_in(path.parent)

    def _settings_in(self, folder: Path) -> Settings:
        """The settings for the files in a folder; inherited from its parent unless it has a settings file."""
        if folder not in self._folders:
            inherits = folder != folder.parent and not any(os.path.isfile(folder / name) for name in NAMES)
            self._folders[folder] = self._settings_in(folder.parent) if inherits else _read_settings(folder)
        return self._folders[folder]

    def _linter(self, path: Path) -> Linter:
        """The linter of the project that a file belongs to, with the stored results of earlier runs."""
        root = self._settings(path).root
        if root not in self._linters:
            self._linters[root] = self._cached_linter(path)
        return self._linters[root]

    def _cached_linter(self, path: Path) -> Linter:
        from trl_lint.linter.store import cache

        off = cache.is_off() or STDIN in self.options.filenames
        kept = None if off else cache.of(self._settings(path))
        if kept is None:
            return self._new_linter(path)
        from trl_lint.linter.cached_linter import CachedLinter

        settings, roots, cards, wanted = self._linter_inputs(path)
        return self._with_scope(CachedLinter(settings, roots, cards, kept, selection=wanted))

    def _new_linter(self, path: Path) -> Linter:
        from trl_lint.linter.linter import Linter

        settings, roots, cards, wanted = self._linter_inputs(path)
        rules = [card.rule() for card in cards]
        return self._with_scope(Linter(settings, roots, rules, can_fix=False, selection=wanted))

    def _with_scope(self, linter: Linter) -> Linter:
        """Tell the linter whether flake8 checks all of its project."""
        from trl_lint.linter.files.discovery import around_project

        linter.sees_all = bool(around_project(self._named(), linter.roots))
        return linter

    def _named(self) -> list[Path]:
        return [Path(name) for name in self.options.filenames or ["."] if name != STDIN]

    def _linter_inputs(self, path: Path) -> tuple[Settings, Sequence[Path], Sequence[Card], Selection]:
        """The settings, the import roots, the cards of the rules for a file, and which of their findings are wanted."""
        from trl_lint.config import selection
        from trl_lint.linter.files.discovery import import_roots

        settings = self._settings(path)
        wanted = selection(settings)
        shown = [card for card in wanted.cards if self._shows(card.code)]
        return settings, import_roots(settings.root, self._named() or [path]), shown, wanted


def _read_settings(folder: Path) -> Settings:
    from trl_lint.config import load_settings, selection
    from trl_lint.settings import ConfigError

    try:
        settings = load_settings(folder)
        _take_stored_cards(settings)
        selection(settings)
        if settings.baseline:
            from trl_lint.linter.suppression import baseline

            baseline.of(settings)
    except ConfigError as error:
        raise _stop(f"trl-lint: {error}") from None
    return settings


def _shown(options: Namespace) -> Callable[[str], bool]:
    """Whether flake8 would show findings with a code."""
    from flake8.style_guide import Decision, DecisionEngine

    decide = DecisionEngine(options).decision_for
    return lambda code: decide(code) is Decision.Selected


def _known_cards() -> Iterator[Card]:
    """The cards of all rules; those of plugins come last, because they require valid settings."""
    from trl_lint.config import load_settings
    from trl_lint.rules.cards import cards
    from trl_lint.settings import ConfigError

    with suppress(ConfigError):
        _take_stored_cards(load_settings(Path.cwd()))
    yield from cards()
    yield from cards(_read_settings(Path.cwd()).plugins)


def _take_stored_cards(settings: Settings) -> None:
    """Use the cards of the rules that are stored with the results of a project: then no rule is imported for them."""
    from trl_lint.linter.store import cache, rule_cards

    stored = None if cache.is_off() else cache.of(settings)
    if stored is not None:
        rule_cards.take_stored(stored, settings.plugins)


def encoded(text: str) -> bytes:
    """The bytes of a text, in the encoding that it declares."""
    source = text.encode("utf-8", "replace")
    if "coding" not in text[:1000]:
        return source
    import io
    import tokenize

    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        return text.encode(encoding, "replace")
    except (SyntaxError, LookupError):
        return source


def _outcome(result: FileResult) -> FileOutcome:
    from trl_lint.linter.decoding import source_lines

    findings = (
        (finding.start.line, finding.start.column - 1, plain.line(_text(finding))) for finding in result.findings
    )
    return FileOutcome("".join(source_lines(result.source)), tuple(findings), result.problem)


def _text(finding: Finding) -> str:
    """The text that flake8 shows for a finding: one line, which ends with what to write instead."""
    advice = f" (help: {finding.advice})" if finding.advice else ""
    return f"{finding.code} {finding.headline}{advice}"


def _starts_processes(options: Namespace) -> bool:
    """Whether flake8 continues in several processes, which would each have to analyse all files."""
    import multiprocessing

    several = options.jobs.is_auto or options.jobs.n_jobs > 1
    # Where processes are not forked, each of them parses the options again.
    is_first = multiprocessing.parent_process() is None
    return several and is_first and STDIN not in options.filenames and not getattr(options, "bug_report", False)


def _files(options: Namespace) -> Iterable[str]:
    """The files that flake8 checks, without unsaved buffers."""
    from flake8.discover_files import expand_paths

    names = expand_paths(
        paths=options.filenames,
        stdin_display_name=options.stdin_display_name,
        filename_patterns=options.filename,
        exclude=(*options.exclude, *options.extend_exclude),
    )
    return (name for name in names if name != STDIN)


def _stop(message: str) -> Exception:
    """The exception that ends flake8 with a message and a non-zero exit code."""
    from flake8.exceptions import ExecutionError

    return ExecutionError(message)
