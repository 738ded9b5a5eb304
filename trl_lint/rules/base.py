"""What a rule is: a short question about one kind of event, with its own documentation."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from trl_lint.findings import Applicability

if TYPE_CHECKING:
    from trl_lint.analysis.events import Event
    from trl_lint.domain.provenance import Step
    from trl_lint.fixes.support.edits import FixPlan, NoFix


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """What a rule says of an event, before it has a place in a file.

    node is where the finding stands, in `module`. provenance is the chain that explains it. applicability is None
    when there is nothing to rewrite; reason says why a fix is not safe. plan is how it is mended.
    function is the one that a fix would edit. metric is what the message is about, where one statement may concern
    several.
    """

    module: Any
    node: Any
    message: str
    provenance: Step | None = None
    help: str = ""
    applicability: Applicability | None = None
    title: str = ""
    reason: str = ""
    plan: Any = None
    function: Any = None
    metric: str = ""


class Rule:
    """A question about the events of the analysis.

    A subclass names its `code` and `name` and answers for one kind of event. The docstring of the module it
    lives in is its page for users; the first line of it is its summary.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    # The codemod that makes the rule's safe fixes, as `module:Command`; None where the rule only hints.
    codemod: ClassVar[str | None] = None
    # A file can only matter to the rule if, for every group, it contains one of the group's byte strings.
    prefilter: ClassVar[tuple[tuple[bytes, ...], ...]] = ()
    # Whether it is about launch commands, in files of any kind: `trl_lint.launch.checker` asks it, no event does.
    launches: ClassVar[bool] = False
    # Whether it has not yet shown that no more than one in twenty of its findings is a false alarm: off by default.
    preview: ClassVar[bool] = False

    def visit(self, event: Event) -> Iterator[Violation]:
        """What is wrong about an event, if anything."""
        raise NotImplementedError

    @property
    def has_fix(self) -> bool:
        return self.codemod is not None or self.launches

    @property
    def documentation(self) -> str:
        """What its author says of it to users, as Markdown."""
        return inspect.cleandoc(sys.modules[type(self).__module__].__doc__ or "")

    @property
    def page(self) -> str:
        """All of what users are told of it, under a heading."""
        preview = "\n\n*Preview: off by default. `--preview` turns it on, as selecting it by its code or name does.*"
        return f"# {self.name} ({self.code}){preview * self.preview}\n\n{self.documentation}"

    @property
    def summary(self) -> str:
        return self.documentation.partition("\n")[0].rstrip(".")


# How far a fix may be trusted, and why no further, by the level of its place: all ranks get there together, that is
# not known, or they may not.
LEVELS = (Applicability.SAFE, Applicability.UNSAFE, Applicability.DISPLAY)
REASONS = (
    "",
    "it is not known whether all ranks get here together",
    "not all ranks may get here together",
)


def offered(plan: FixPlan | NoFix, level: int = 0) -> dict[str, Any]:
    """What a problem says of its fix: how far it may be trusted at a place of this level, and why no further."""
    from trl_lint.fixes.support.edits import NoFix

    if isinstance(plan, NoFix):
        return {"applicability": Applicability.DISPLAY, "reason": plan.reason}
    applicability, reason = LEVELS[level], REASONS[level]
    if plan.caution and applicability is Applicability.SAFE:
        applicability, reason = Applicability.UNSAFE, plan.caution
    return {"applicability": applicability, "reason": reason, "plan": plan}


# A file that concerns several ranks names one of these.
LIBRARIES = tuple(b"accelerat Accelerator Trainer torch.distributed DataParallel wandb trl".split())
