"""What a rule is: a short question about one kind of event, with its own documentation."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Generic, cast

from trl_lint.analysis.events import Event, EventT, types_of
from trl_lint.findings import Consequence
from trl_lint.plugins import has_module

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
    """What a rule says of an event, before it has a place in a file. From the event its fix is planned.

    site: where it stands, if not where the event does. provenance: the chain that explains it. metric: what the message
    is about, where one statement may concern several. by_hand: why it is for the author to mend, where the fix of the
    rule is for other events. consequence: what comes of it; None for the first of the rule's own. by_default: whether a
    user who has asked for nothing is glad to know; None: unless it is waste. cause: what is the same for all violations
    of the rule that are one finding. branch: where some ranks turn off to its place, if that is elsewhere. guard: what
    keeps ranks away, one of the steps of the chain, and here: what that makes of the place, in a few words.
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
    branch: CSTNode | None = None
    guard: Step | None = None
    here: str = ""

    @property
    def module(self) -> Module:
        # What the analysis explains stands in a file of the project.
        return self.event.module if self.site is None else cast("Module", self.site.module)

    @property
    def node(self) -> CSTNode:
        return self.event.node if self.site is None else self.site.node

    @property
    def function(self) -> FunctionInfo | None:
        """The function that a fix would edit."""
        return self.event.function if self.site is None else self.site.function


class BaseRule:
    """What all rules have: a code, a name, and a page for users.

    The page is the docstring of the module; its first line is the summary.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    # What may come of its findings, that of most of them first.
    consequences: ClassVar[tuple[Consequence, ...]]
    # The codes of rules whose findings, where they stand inside one of its own, are about the same cause.
    covers: ClassVar[frozenset[str]] = frozenset()
    # Whether code that it reports fails on each pass, wherever there are several processes: no data, device or engine
    # that a run may lack has a part in it.
    always_fails: ClassVar[bool] = False
    # Whether it has not yet shown that no more than one in twenty of its findings is a false alarm: off by default.
    preview: ClassVar[bool] = False

    @property
    def module(self) -> str:
        """The name of its module, which is that of its fix and its fixtures, too."""
        return type(self).__module__.rpartition(".")[2]

    @property
    def fix_module(self) -> str:
        """The full name of the module that says how it is mended, if there is one: in a package beside its own."""
        package = type(self).__module__.rpartition(".")[0]
        return f"{package.rpartition('.')[0]}.fixes.{self.module}"

    @property
    def has_fix(self) -> bool:
        """Whether any of its findings can be mended by the tool."""
        raise NotImplementedError

    @property
    def documentation(self) -> str:
        """What its author says of it to users, as Markdown."""
        return inspect.cleandoc(sys.modules[type(self).__module__].__doc__ or "")

    @property
    def page(self) -> str:
        """All of what users are told of it, under a heading."""
        preview = "\n\n*Preview: off by default. `--preview` turns it on, as selecting it by its code or name does.*"
        told = f"\n\nConsequence: {', '.join(each.value for each in self.consequences)}."
        return f"# {self.name} ({self.code}){preview * self.preview}{told}\n\n{self.documentation}"

    @property
    def summary(self) -> str:
        return self.documentation.partition("\n")[0].rstrip(".")


class Rule(BaseRule, Generic[EventT]):
    """A question about events: a `class MyRule(Rule[CollectiveCalled])` is asked about those and no others.

    How it is mended is said by `trl_lint/fixes/`, in a module of the same name; without one it only hints.
    """

    # The classes of the events that it asks about.
    events: ClassVar[tuple[type[Event], ...]]
    # What a file has to mention, besides what these events ask for: one of each group.
    mentions: ClassVar[Mentions] = ()
    # A file can only matter to the rule if it mentions, for one of these, a name of each group.
    prefilter: ClassVar[tuple[Mentions, ...]]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.events = types_of(cls)
        cls.prefilter = tuple((*event.mentions, *cls.mentions) for event in cls.events)

    def check(self, event: EventT) -> Iterator[Violation]:
        """What is wrong about an event, if anything."""
        raise NotImplementedError

    def fails_in_one_process(self, event: EventT) -> bool:
        """Whether it goes wrong in one process on several GPUs as well, where DataParallel wraps the model."""
        return False

    def message_for(self, violation: Violation, metrics: Sequence[str]) -> str:
        """What is said where one statement concerns several metrics; by default the first violation speaks for all."""
        return violation.message

    @property
    def has_fix(self) -> bool:
        return has_module(self.fix_module)


class LaunchRule(BaseRule):
    """A question about launch commands, in files of any kind: `trl_lint.launch.checker` answers it, no event does."""

    @property
    def has_fix(self) -> bool:
        return True


class CommentRule(BaseRule):
    """A question about the comments that silence findings, answered by `linter.suppression.unused_noqa`."""

    @property
    def has_fix(self) -> bool:
        return True
