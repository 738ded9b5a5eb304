"""Which Python code the analysis may find anything in: a search in the bytes, before anything is parsed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from trl_lint.analysis.program.project.source_text import code_of
from trl_lint.knowledge.mentions import LIBRARIES
from trl_lint.rules.base import Rule


class Prefilter:
    """What a file has to mention to matter to one of these rules, or to use one of the user's own names."""

    def __init__(self, rules: Sequence[Rule[Any]], own_names: Iterable[str]) -> None:
        wanted = dict.fromkeys(groups for rule in rules for groups in rule.prefilter)
        # Each group once; and for each alternative, the groups of which a file has to mention a member.
        self._groups = list(dict.fromkeys(group for groups in wanted for group in groups))
        self._wanted = [tuple(map(self._groups.index, groups)) for groups in wanted]
        # A file that uses one of the user's own names contains its last part. The name may stand for a library, a
        # collective or a log, so it satisfies every group.
        self._own = tuple(name.rpartition(".")[2].encode() for name in own_names)

    def may_matter(self, source: bytes) -> bool:
        """Whether a content mentions enough in its code; comments and docstrings do not count."""
        return self.mentions(source) and self._mentions(code_of(source))

    def mentions(self, source: bytes) -> bool:
        """Whether a content of any kind mentions enough anywhere."""
        return bool(self._wanted) and self._mentions(source)

    def names_library(self, source: bytes) -> bool:
        """Whether a content that matters names a library, or one of the user's own names, in its code."""
        code = code_of(source)
        return any(name in code for name in (*LIBRARIES, *self._own))

    def _mentions(self, source: bytes) -> bool:
        if any(name in source for name in self._own):
            return True
        known: dict[int, bool] = {}

        def is_there(group: int) -> bool:
            if group not in known:
                known[group] = any(name in source for name in self._groups[group])
            return known[group]

        return any(all(map(is_there, groups)) for groups in self._wanted)


@lru_cache(8)
def prefilter_of(rules: tuple[Rule[Any], ...], own_names: tuple[str, ...]) -> Prefilter:
    """The prefilter of these rules, which is the same in each run."""
    return Prefilter(rules, own_names)
