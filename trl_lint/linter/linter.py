"""Lint files of any kind: their Python code, and their launch commands.

LibCST, and everything that needs it, is imported only once a file turns out to matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint.config import ignored_in
from trl_lint.findings import Finding
from trl_lint.launch.parsers.readers import is_launch_file, may_start
from trl_lint.linter.code_linter import CodeLinter
from trl_lint.linter.results import FixResult, LaunchOutcome
from trl_lint.rules.cards import LAUNCHES

if TYPE_CHECKING:
    from trl_lint.launch.checker import Checked
    from trl_lint.launch.training.launch_project import LaunchProject as Launches
    from trl_lint.linter.cells.document import CodeDocument
    from trl_lint.rules.base import LaunchRule


class Linter(CodeLinter):
    """Lints files of one project, whatever they contain; see `CodeLinter` for its arguments."""

    _launches: Launches | None = None
    # The file that was last searched for launch commands, and the result.
    _last: tuple[Path, bytes, Checked] | None = None
    _passed_over: frozenset[Path] = frozenset()
    # The files given to `prepare`, and which of them have been searched for a start of Python, with the result.
    _prepared: Mapping[Path, bytes] = {}
    _may_start: dict[Path, bool]

    @cached_property
    def _launch_rules(self) -> tuple[LaunchRule, ...]:
        from trl_lint.rules.base import LaunchRule

        return tuple(rule for rule in self.rules if isinstance(rule, LaunchRule))

    def matters(self, path: Path, source: bytes) -> bool:
        """Whether any selected rule can have a finding in this file (a search in the bytes)."""
        if self.may_launch(path, source) or self.analyses(path, source):
            return True
        document = self.document(path, source)
        return document is not None and document.remark != ""

    def may_launch(self, path: Path, source: bytes) -> bool:
        """Whether launch commands are looked for in this file."""
        if not self.looks_for_launches:
            return False
        if self._prepared.get(path) is not source:
            return may_start(path, source)
        if path not in self._may_start:
            self._may_start[path] = may_start(path, source)
        return self._may_start[path]

    @property
    def looks_for_launches(self) -> bool:
        """Whether any selected rule is about launch commands."""
        return self._has_rules(LAUNCHES)

    def analyses(self, path: Path, source: bytes) -> bool:
        """Whether this file is Python code, or contains some, that the analysis looks at."""
        return bool(self.modules(path, source))

    def modules(self, path: Path, source: bytes) -> dict[Path, bytes]:
        """The Python code of a file that the analysis looks at: the file itself, or its parts, by their paths."""
        document = self.document(path, source)
        if document is None:
            is_code = not is_launch_file(path, source) and self.may_matter(source)
            return {path: source} if is_code else {}
        return {each.path: each.source for each in document.sound if self.may_matter(each.source)}

    def document(self, path: Path, source: bytes) -> CodeDocument | None:
        """The parts of a file that contains Python in parts; None for all other files."""
        return self.documents.of(path, source, self.may_matter)

    def check(self, path: Path, source: bytes) -> list[Finding]:
        """All findings of the selected rules in `source`, sorted by place. Suppressions are not applied here.

        Raises:
            SourceError: the text can't be decoded or parsed.
        """
        if path in self.comments.silent:
            return []
        found = self._check_code_of(path, source)
        if not self.may_launch(path, source):
            return found
        found += self.launches_in(path, source).findings
        return sorted(found, key=lambda each: each.sort_key)

    def _check_code_of(self, path: Path, source: bytes) -> list[Finding]:
        """The findings in the Python code of a file of any kind, at places in that file."""
        document = self.document(path, source)
        if document is not None:
            from trl_lint.linter.cells import linting

            return linting.check(self, document)
        if is_launch_file(path, source) or (self.may_launch(path, source) and not self.may_matter(source)):
            return []
        return [self.documents.in_user_file(each) for each in self.check_code(path, source)]

    def launches_in(self, path: Path, source: bytes) -> LaunchOutcome:
        """The findings about the launch commands in a file of any kind."""
        found = self.check_launches(path, source)
        selected = tuple(each.finding for each in found.launches)
        return LaunchOutcome(selected, tuple(self.comments.unasked_launches[path]), found.remark)

    def check_launches(self, path: Path, source: bytes) -> Checked:
        """What is wrong with the launch commands in a file of any kind, with what is needed to fix it."""
        from trl_lint.launch.checker import checked

        if self._last is None or self._last[:2] != (path, source):
            found = checked(path, source, self.launches)
            wanted = tuple(each for each in found.launches if self._is_wanted(path, each.finding))
            others = [each.finding for each in found.launches if each not in wanted]
            self._last = (path, source, replace(found, launches=wanted))
            self.comments.unasked_launches[path] = others
        return self._last[2]

    def unasked(self, path: Path) -> list[Finding]:
        """Findings of the selected rules in a file just checked that the selection does not ask for."""
        return [*self.comments.unasked.get(path, ()), *self.comments.unasked_launches.get(path, ())]

    def _is_wanted(self, path: Path, finding: Finding) -> bool:
        """Whether a finding about a launch command is wanted."""
        kind = finding.consequence, finding.by_default
        return any(self.wants(rule, finding) for rule in self._launch_rules if rule.code == finding.code) and not (
            self.settings.per_file_ignores and ignored_in(self.settings, path)(self._launch_rules[0], *kind)
        )

    @property
    def launches(self) -> Launches:
        """What the launch commands of this project start, as far as known so far."""
        if self._launches is None:
            from trl_lint.launch.training.launch_project import LaunchProject

            self._launches = LaunchProject.of(self.settings, self.roots, self.overlay)
        return self._launches

    def remark(self, path: Path, source: bytes) -> str:
        """Why a file, or a part of it, was not looked at; "" if all of it was."""
        document = self.document(path, source)
        if document is not None and document.remark:
            return document.remark
        return self.launches_in(path, source).remark if self.may_launch(path, source) else ""

    def pass_over(self, paths: Iterable[Path]) -> None:
        """Mark files that are linted along with those of `prepare`, but name nothing that a rule could be about."""
        self._passed_over = frozenset(paths)

    def prepare(self, files: Iterable[tuple[Path, bytes]]) -> None:
        """Analyse the code of these files; see `analyse`."""
        self.analyse(self._modules_of(dict(files)))

    def _modules_of(self, files: Mapping[Path, bytes]) -> dict[Path, bytes]:
        """The Python code to analyse in all files of a run, by the paths of the modules."""
        self._prepared, self._may_start = files, {}
        return {name: code for path, source in files.items() for name, code in self.modules(path, source).items()}

    def passed_over_with_findings(self) -> dict[Path, bytes]:
        """The files passed over in which the analysis of other files found something."""
        return {
            path: content
            for path, content in self._passed_over_files_with_findings().items()
            if path in self._passed_over
        }

    def fix(self, path: Path, source: bytes, *, unsafe: bool = False) -> FixResult:
        """Apply the fixes that pass the gate; with `unsafe`, the unsafe ones too."""
        from trl_lint.linter.rewriting.fixing import fix_launches

        if path in self.comments.silent:
            return FixResult(source, (), (), ())
        launches = self.may_launch(path, source)
        first = self._fix_code_of(path, source, launches=launches, unsafe=unsafe)
        return fix_launches(self, path, source, first, unsafe=unsafe) if launches else first

    def _fix_code_of(self, path: Path, source: bytes, *, launches: bool, unsafe: bool) -> FixResult:
        """Apply `fix` to the Python code of a file of any kind."""
        from trl_lint.linter.rewriting.fixing import fix

        document = self.document(path, source)
        if document is None and (is_launch_file(path, source) or (launches and not self.may_matter(source))):
            return FixResult(source, (), (), ())
        if document is None and not self.documents.parts:
            return fix(self, path, source, unsafe=unsafe)
        from trl_lint.linter.cells import linting

        if document is not None:
            return linting.fix(self, document, unsafe=unsafe)
        return linting.result_in_user_file(self, fix(self, path, source, unsafe=unsafe))
