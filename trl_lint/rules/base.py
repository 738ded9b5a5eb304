"""The base of rules: a rule is a short check of one kind of event, with its own documentation."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, cast

from trl_lint.analysis.event_types import EventT, types_of
from trl_lint.analysis.events import Event
from trl_lint.findings import Consequence
from trl_lint.plugins import has_module
from trl_lint.rules.cards import CODE, COMMENTS, LAUNCHES, Card

if TYPE_CHECKING:
    from libcst import CSTNode

    from trl_lint.analysis.program.project.classes import FunctionInfo
    from trl_lint.analysis.program.project.project import Module
    from trl_lint.domain.provenance import SourceModule, Step
    from trl_lint.knowledge.mentions import Mentions


@dataclass(frozen=True, slots=True)
class Site:
    """A place in the code: a node of a module, and the function around it."""

    module: SourceModule
    node: CSTNode
    function: FunctionInfo | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """The verdict of a rule on an event, before it has a position in a file. Its fix is planned from the event.

    Attributes:
        site: The place, if not that of the event.
        provenance: The chain that explains it.
        metric: The subject of the message, if one statement may concern several.
        by_hand: Why the author has to fix it, if the rule's fix is for other events.
        consequence: The consequence; None for the first of the rule's.
        by_default: Whether it is useful to a user who has selected nothing; None: unless it is waste.
        cause: The same for all violations of the rule that are one finding.
        in_doubt: It is left out beside others at its place that are in the default set.
        branch: Where some ranks leave the path to the place, if that is elsewhere.
        guard: The step of the chain that keeps ranks away.
        here: The effect on the place, in a few words.
    """

    event: Event
    message: str
    site: Site | None = None
    provenance: Step | None = None
    help: str = ""
    metric: str = ""
    by_hand: str = ""
    consequence: Consequence | None = None
    by_default: bool | None = None
    cause: Hashable = None
    in_doubt: bool = False
    branch: CSTNode | None = None
    guard: Step | None = None
    here: str = ""

    @property
    def module(self) -> Module:
        # Every module that the analysis explains is a file of the project.
        return self.event.module if self.site is None else cast("Module", self.site.module)

    @property
    def node(self) -> CSTNode:
        return self.event.node if self.site is None else self.site.node

    @property
    def function(self) -> FunctionInfo | None:
        """The function that a fix would edit."""
        return self.event.function if self.site is None else self.site.function


class BaseRule:
    """The base of all rules: a code, a name, and a page for users.

    The page is the docstring of the module; its first line is the summary.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    # The consequences of its findings, the most frequent one first.
    consequences: ClassVar[tuple[Consequence, ...]]
    # The codes of rules whose findings have the same cause if they are inside one of its own.
    covers: ClassVar[frozenset[str]] = frozenset()
    # Whether reported code fails on each run with several processes, whatever data, devices or engines the run uses.
    always_fails: ClassVar[bool] = False
    # Whether its crashes come where they are reported, with a message that says what is wrong.
    says_what_fails: ClassVar[bool] = False
    # Whether it is not yet shown that at most one in twenty of its findings is a false alarm: off by default.
    preview: ClassVar[bool] = False
    # What it checks, in the words of `cards.py`.
    about: ClassVar[str] = CODE

    @property
    def card(self) -> Card:
        return Card(type(self).__module__, self.code, self.name, self.consequences, self.preview, self.about)

    @property
    def module(self) -> str:
        """The name of its module, which is also that of its fix and its fixtures."""
        return type(self).__module__.rpartition(".")[2]

    @property
    def fix_module(self) -> str:
        """The full name of the module with its fix, if there is one: in a package next to its own."""
        package = type(self).__module__.rpartition(".")[0]
        return f"{package.rpartition('.')[0]}.fixes.{self.module}"

    @property
    def has_fix(self) -> bool:
        """Whether the tool can fix any of its findings."""
        raise NotImplementedError

    @property
    def documentation(self) -> str:
        """Its documentation for users, as Markdown."""
        return inspect.cleandoc(sys.modules[type(self).__module__].__doc__ or "")

    @property
    def page(self) -> str:
        """Its complete page for users, with a heading."""
        preview = "\n\n*Preview: off by default. `--preview` turns it on, as selecting it by its code or name does.*"
        told = f"\n\nConsequence: {', '.join(each.value for each in self.consequences)}."
        return f"# {self.name} ({self.code}){preview * self.preview}{told}\n\n{self.documentation}"

    @property
    def summary(self) -> str:
        return self.documentation.partition("\n")[0].rstrip(".")


class Rule(BaseRule, Generic[EventT]):
    """A check of events: a `class MyRule(Rule[CollectiveCalled])` gets these events and no others.

    Its fix is in `trl_lint/fixes/`, in a module of the same name; without one it only gives hints.
    """

    # The classes of the events that it checks.
    events: ClassVar[tuple[type[Event], ...]]
    # What a file has to mention in addition to what these events require: one of each group.
    mentions: ClassVar[Mentions] = ()
    # A file can only matter to the rule if it mentions, for one of these, a name of each group.
    prefilter: ClassVar[tuple[Mentions, ...]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.events = types_of(cls)
        cls.prefilter = tuple((*event.mentions, *cls.mentions) for event in cls.events)

    def check(self, event: EventT) -> Iterator[Violation]:
        """The violations of an event, if any."""
        raise NotImplementedError

    def fails_in_one_process(self, event: EventT) -> bool:
        """Whether it also fails in one process on several GPUs, where DataParallel wraps the model."""
        return False

    def message_for(self, violation: Violation, metrics: Sequence[str]) -> str:
        """The message if one statement concerns several metrics; by default that of the first violation."""
        return violation.message

    @property
    def has_fix(self) -> bool:
        return has_module(self.fix_module)


class LaunchRule(BaseRule):
    """A check of launch commands, in files of any kind, by `trl_lint.launch.checker` instead of events."""

    about = LAUNCHES

    @property
    def has_fix(self) -> bool:
        return True


class CommentRule(BaseRule):
    """A check of the comments that suppress findings, by `linter.suppression.unused_noqa`."""

    about = COMMENTS

    @property
    def has_fix(self) -> bool:
        return True
