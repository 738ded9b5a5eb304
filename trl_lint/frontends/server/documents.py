"""The open documents: their text as the editor has it, and what the last lint of it came to."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from lsprotocol import types

from trl_lint.findings import Finding
from trl_lint.frontends.flake8_plugin import encoded
from trl_lint.frontends.server.coordinates import Coordinates
from trl_lint.linter.results import SourceError

# The number of a state of a document, and what was found in it.
Told = tuple[int, tuple[types.Diagnostic, ...]]


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


@dataclass(frozen=True)
class Linted:
    """What a lint of one state of a document came to.

    error: where and why its text could not be understood; there are no findings then. trouble: the line for the user
    when the tool itself failed. settled: whether it was looked at from the start, and not only at what has changed.
    """

    version: Version
    diagnostics: tuple[types.Diagnostic, ...] = ()
    findings: tuple[Finding, ...] = ()
    error: SourceError | None = None
    trouble: str = ""
    settled: bool = True

    @property
    def told(self) -> Told:
        """What an editor is told of it."""
        return self.version.number, self.diagnostics


@dataclass
class Document:
    """An open document. told: what the editor was told last, if anything."""

    now: Version
    linted: Linted | None = None
    told: Told | None = None
    changed_at: float = field(default=float("-inf"))

    def is_linted(self) -> bool:
        """Whether what is known is about the text as it is now."""
        return self.linted is not None and self.linted.version is self.now
