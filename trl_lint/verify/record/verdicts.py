"""The verdict of an oracle on a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

# The data of a verdict: JSON, except that keys may be ranks.
Evidence: TypeAlias = "str | int | float | Sequence[Evidence] | Mapping[str, Evidence] | Mapping[int, Evidence] | None"
# The reason of a run that was interrupted by the user.
INTERRUPTED = "interrupted"


class Outcome(str, Enum):
    """`UNKNOWN`: there was nothing to judge, or no basis to judge it."""

    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of an oracle: one line, the lines of evidence below it, and the same as data.

    kind: how it failed, as a keyword for reports and tests (`exception`, `abort`, `hang`, …).
    """

    oracle: str
    outcome: Outcome
    summary: str
    evidence: tuple[str, ...] = ()
    kind: str = ""
    data: Mapping[str, Evidence] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        return self.outcome is Outcome.FAILED

    @property
    def ranks(self) -> tuple[int, ...]:
        """The ranks that made the run fail, if it names them."""
        found = self.data.get("ranks")
        return tuple(each for each in found if isinstance(each, int)) if isinstance(found, Sequence) else ()

    @property
    def at(self) -> tuple[str, ...]:
        """Where the first of them failed, and from where that was called."""
        found = self.data.get("at")
        return tuple(each for each in found if isinstance(each, str)) if isinstance(found, Sequence) else ()


def passed(oracle: str, summary: str, evidence: Iterable[str] = (), **data: Evidence) -> Verdict:
    return Verdict(oracle, Outcome.PASSED, summary, tuple(evidence), data=data)


def failed(oracle: str, kind: str, summary: str, evidence: Iterable[str] = (), **data: Evidence) -> Verdict:
    return Verdict(oracle, Outcome.FAILED, summary, tuple(evidence), kind, data)


def unknown(oracle: str, summary: str) -> Verdict:
    return Verdict(oracle, Outcome.UNKNOWN, summary)
