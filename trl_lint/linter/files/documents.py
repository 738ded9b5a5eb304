"""The files of a run that contain Python in parts; their readers are imported when the first one is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint.launch.parsers.readers import DOCUMENTATION, NOTEBOOK, front_end
from trl_lint.linter.files.discovery import is_included
from trl_lint.settings import Settings

if TYPE_CHECKING:
    from trl_lint.findings import Finding
    from trl_lint.linter.cells.document import CodeDocument
    from trl_lint.linter.cells.places import CodePart
    from trl_lint.linter.files.prefilter import Prefilter


class Documents:
    """Notebooks, and documentation that `extend-include` names. parts: theirs, by their paths in the analysis."""

    def __init__(self, settings: Settings, prefilter: Callable[[], Prefilter]) -> None:
        self.parts: dict[Path, CodePart] = {}
        self._settings = settings
        self._prefilter = prefilter
        self._read: dict[Path, CodeDocument] = {}
        self._included: dict[Path, bool] = {}

    def of(self, path: Path, source: bytes, may_matter: Callable[[bytes], bool]) -> CodeDocument | None:
        """The parts of a file, with those marked that may matter; None for a file without parts."""
        if not self._has_parts(path):
            return None
        known = self._read.get(path)
        if known is None or known.source != source:
            from trl_lint.linter.cells import document, reading

            mentions = self._prefilter().mentions(source)
            known = reading.document_of(path, source, may_matter) if mentions else document.CodeDocument(path, source)
            self._read[path] = known
            self.parts.update((each.path, each) for each in known.parts)
        return known

    def file_of(self, path: Path) -> Path:
        """The file that contains a module, by the path that the analysis uses."""
        part = self.parts.get(path)
        return path if part is None else part.file

    def starts_no_processes(self, path: Path) -> bool:
        """Whether a module is the code of a notebook that starts no processes, so that only its kernel runs it."""
        part = self.parts.get(path)
        if part is None or front_end(part.file) != NOTEBOOK:
            return False
        from trl_lint.analysis.program.definitions.notebooks import starts_processes

        return not starts_processes(part.source)

    def round_trip(self, path: Path, text: str) -> tuple[str, str]:
        """A module's new text as its file can contain it, and why that is impossible; "" if it is possible.

        Lines between two cells of a notebook become lines of one of them. A file without parts can contain any text.
        """
        part = self.parts.get(path)
        if part is None:
            return text, ""
        from trl_lint.linter.cells.reading import round_trip

        return round_trip(self._read[part.file], part, text)

    def in_user_file(self, finding: Finding) -> Finding:
        """A finding in a Python file, with places in parts of other files translated for the user."""
        if not self.parts:
            return finding
        from trl_lint.linter.cells.linting import in_user_file

        return in_user_file(self.parts, None, finding)

    def _has_parts(self, path: Path) -> bool:
        front = front_end(path)
        if front == NOTEBOOK or front not in DOCUMENTATION:
            return front == NOTEBOOK
        if path not in self._included:
            self._included[path] = is_included(path, self._settings.root, self._settings.extend_include)
        return self._included[path]
