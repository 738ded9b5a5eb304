"""The open documents: their text as the editor has it, and what the last lint of it came to."""

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

# By the URI of a document: the number of a state of it, and what was found in it.
Told = dict[str, tuple[int, tuple[types.Diagnostic, ...]]]


@dataclass(frozen=True)
class Version:
    """One state of a document. number: as the editor counts them."""

    uri: str
    path: Path
    number: int
    coordinates: Coordinates

    @property
    def text(self) -> str:
        return self.coordinates.text

    @cached_property
    def source(self) -> bytes:
        """The text as it would be on the disk."""
        return encoded(self.text)

    @property
    def shown(self) -> Sequence[Version]:
        """The documents in which an editor shows it: itself, or its cells."""
        return (self,)

    def text_at(self, place: Position) -> Version | None:
        """The document in which a place is counted; None where the editor shows none."""
        return None if place.cell else self

    def placed(self, uri: str, position: types.Position) -> tuple[Version, Position] | None:
        """A position in a document that shows it: that document, and the place; None if it is not one of those."""
        return (self, self.coordinates.place(position)) if uri == self.uri else None

    def changes(self, edits: Sequence[Edit]) -> Iterator[tuple[Version, Sequence[Edit]]]:
        """Edits by the documents that they change."""
        yield self, edits

    def changes_to(self, text: str) -> Iterator[tuple[Version, Sequence[Edit]]]:
        """What has to change for it to have another text, by document."""
        yield self, edits_between(self.text, text)


@dataclass(frozen=True)
class Linted:
    """What a lint of one state of a document came to.

    diagnostics: by the URIs of the documents in which they are shown. error: where and why its text could not be
    understood; there are no findings then. trouble: the line for the user when the tool itself failed. settled: whether
    it was looked at from the start, and not only at what has changed.
    """

    version: Version
    diagnostics: Mapping[str, tuple[types.Diagnostic, ...]] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    error: SourceError | None = None
    trouble: str = ""
    settled: bool = True

    @property
    def told(self) -> Told:
        """What an editor is told of it."""
        return {each.uri: (each.number, self.diagnostics.get(each.uri, ())) for each in self.version.shown}


@dataclass
class Document:
    """An open document. told: what the editor was told last."""

    now: Version
    linted: Linted | None = None
    told: Told = field(default_factory=dict)
    changed_at: float = field(default=float("-inf"))

    def is_linted(self) -> bool:
        """Whether what is known is about the text as it is now."""
        return self.linted is not None and self.linted.version is self.now
