"""Which contents the analysis of Python code may find anything in: a search of bytes, before anything is parsed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from trl_lint.analysis.program.source_text import code_of
from trl_lint.knowledge.mentions import Group
from trl_lint.rules.base import Rule


class Prefilter:
    """What a file has to mention for any of these rules, or of the user's own names, to matter in it."""

    def __init__(self, rules: Sequence[Rule[Any]], own_names: Iterable[str]) -> None:
        self._wanted = {frozenset(groups) for rule in rules for groups in rule.prefilter}
        # A file that uses a name of the user's own names its last part. What it stands for may be a library, a
        # collective or a log: it is in every group.
        self._own = tuple(name.rpartition(".")[2].encode() for name in own_names)

    def may_matter(self, source: bytes) -> bool:
        """Whether a content mentions enough, in its code: comments and docstrings do not count."""
        return bool(self._wanted) and self._mentions(source) and self._mentions(code_of(source))

    def _mentions(self, source: bytes) -> bool:
        if any(name in source for name in self._own):
            return True
        groups = frozenset[Group]().union(*self._wanted)
        present = {group for group in groups if any(name in source for name in group)}
        return any(present >= wanted for wanted in self._wanted)
