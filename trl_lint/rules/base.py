"""What a rule is: a short question about one kind of event, with its own documentation."""

from __future__ import annotations

import inspect
import sys
from typing import ClassVar


class Rule:
    """A question about the events of the analysis.

    A subclass names its `code` and `name` and answers for one kind of event. The docstring of the module it
    lives in is its page for users; the first line of it is its summary.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    # The codemod that rewrites what the rule found, as `module:Command`; None where the rule only hints.
    codemod: ClassVar[str | None] = None
    # A file can only matter to the rule if, for every group, it contains one of the group's byte strings.
    needles: ClassVar[tuple[tuple[bytes, ...], ...]] = ()

    @property
    def documentation(self) -> str:
        """The page for users, as Markdown."""
        return inspect.cleandoc(sys.modules[type(self).__module__].__doc__ or "")

    @property
    def summary(self) -> str:
        return self.documentation.partition("\n")[0].rstrip(".")

    def may_matter(self, source: bytes) -> bool:
        """Whether a file with this content can have a finding of this rule at all."""
        return all(any(needle in source for needle in group) for group in self.needles)
