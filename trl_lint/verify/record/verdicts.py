"""What an oracle says of a run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Outcome(str, Enum):
    """`UNKNOWN`: there was nothing to judge, or nothing to judge it by."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """An oracle's word: one line, the lines of evidence below it, and the same as data.

    way: how it failed, in a word that reports and tests can go by (`exception`, `abort`, `hang`, …).
    """

    oracle: str
    outcome: Outcome
    summary: str
    evidence: tuple[str, ...] = ()
    way: str = ""
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return self.outcome is Outcome.FAILED


def passed(oracle: str, summary: str, evidence: Iterable[str] = (), **data: Any) -> Verdict:
    return Verdict(oracle, Outcome.PASSED, summary, tuple(evidence), data=data)


def failed(oracle: str, way: str, summary: str, evidence: Iterable[str] = (), **data: Any) -> Verdict:
    return Verdict(oracle, Outcome.FAILED, summary, tuple(evidence), way, data)


def unknown(oracle: str, summary: str) -> Verdict:
    return Verdict(oracle, Outcome.UNKNOWN, summary)
