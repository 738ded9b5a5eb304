"""The open documents: their text in the editor, and the result of the last lint."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from lsprotocol import types

from trl_lint.findings import Edit, Finding, Position
from trl_lint.frontends.flake8_plugin import encoded
from trl_lint.frontends.server.coordinates import Coordinates
from trl_lint.linter.results import SourceError
from trl_lint.linter.rewriting.text_edits import edits_between

# By the URI of a document: the number of a version of it, and its diagnostics.
SentDiagnostics = dict[str, tuple[int, tuple[types.Diagnostic, ...]]]


@dataclass(frozen=True)
class Version:
    """One version of a document. number: the editor's version number."""

    uri: str
    path: Path
    number: int
    coordinates: Coordinates

    @property
    def text(self) -> str:
        return self.coordinates.text

    @cached_property
    def source(self) -> bytes:
        """The text as it would be on disk."""
        return encoded(self.text)

    @property
    def shown(self) -> Sequence[Version]:
        """The documents that an editor shows for it: itself, or its cells."""
        return (self,)

    def text_at(self, place: Position) -> Version | None:
        """The document that a position is relative to; None if the editor shows none."""
        return None if place.cell else self

    def placed(self, uri: str, position: types.Position) -> tuple[Version, Position] | None:
        """The document with this URI that shows it, and the position in it; None if there is none."""
        return (self, self.coordinates.place(position)) if uri == self.uri else None

    def changes(self, edits: Sequence[Edit]) -> Iterator[tuple[Version, Sequence[Edit]]]:
        """Edits, by the document that they change."""
        yield self, edits

    def changes_to(self, text: str) -> Iterator[tuple[Version, Sequence[Edit]]]:
        """The edits that give it another text, by document."""
        yield self, edits_between(self.text, text)


@dataclass(frozen=True)
class Linted:
    """The lint result for one version of a document.

    Attributes:
        diagnostics: By the URIs of the documents that show them.
        error: Where and why its text could not be parsed; there are no findings then.
        trouble: A message for the user if the tool itself failed.
        settled: Whether it was a full lint, not an incremental one.
    """

    version: Version
    diagnostics: Mapping[str, tuple[types.Diagnostic, ...]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    error: SourceError | None = None
    trouble: str = ""
    settled: bool = True

    @property
    def to_send(self) -> SentDiagnostics:
        """The diagnostics to send to the editor."""
        return {each.uri: (each.number, self.diagnostics.get(each.uri, ())) for each in self.version.shown}


@dataclass
class Document:
    """An open document. sent: the diagnostics last sent to the editor."""

    now: Version
    linted: Linted | None = None
    sent: SentDiagnostics = field(default_factory=dict)
    changed_at: float = field(default=float("-inf"))

    def is_linted(self) -> bool:
        """Whether the result is for the current text."""
        return self.linted is not None and self.linted.version is self.now
