"""The evaluated arguments of one call."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

import libcst as cst

from trl_lint.analysis.program.project.classes import Parameter
from trl_lint.domain import ranks
from trl_lint.domain.values import SAME, Kind, Value


class Arguments:
    """positional and keywords by value; star and double are the values of `*x` and `**x`, if any.

    nodes: the Arg node of each positional (by index) and keyword (by name) argument.
    """

    __slots__ = ("double", "keywords", "nodes", "positional", "star")

    def __init__(self, positional: Iterable[Value] = (), keywords: dict[str, Value] | None = None) -> None:
        self.positional: list[Value] = list(positional)
        self.keywords: dict[str, Value] = dict(keywords or {})
        self.star: Value | None = None
        self.double: Value | None = None
        self.nodes: dict[int | str, cst.Arg] = {}

    def up_to(self, count: int) -> Arguments:
        """The first positional arguments alone."""
        first = Arguments(self.positional[:count])
        first.nodes = {key: node for key, node in self.nodes.items() if type(key) is int and key < count}
        return first

    def get(self, position: int, name: str) -> Value | None:
        """The argument of a parameter; None if it is not passed (or only in a starred argument)."""
        if name in self.keywords:
            return self.keywords[name]
        if 0 <= position < len(self.positional):
            return self.positional[position]
        return None

    def node(self, position: int, name: str) -> cst.Arg | None:
        return self.nodes.get(name) or self.nodes.get(position)

    def expression(self, key: int | str) -> cst.BaseExpression | None:
        """The expression of a positional (by index, also from the end) or keyword argument; None if starred."""
        if isinstance(key, int) and key < 0:
            key += len(self.positional)
        arg = self.nodes.get(key)
        return None if arg is None else arg.value

    def without_first(self) -> Arguments:
        """The arguments of `method(…)` in `Class.method(self, …)`."""
        rest = Arguments(self.positional[1:], self.keywords)
        rest.star, rest.double = self.star, self.double
        rest.nodes = {key - 1 if isinstance(key, int) else key: arg for key, arg in self.nodes.items() if key != 0}
        return rest

    def alike(self, keys: Collection[int | str]) -> Arguments:
        """These arguments, with those at some places, or with some names, replaced by values that all ranks have."""
        positional = [SAME if key in keys else value for key, value in enumerate(self.positional)]
        others = Arguments(positional, {key: SAME if key in keys else each for key, each in self.keywords.items()})
        others.star, others.double, others.nodes = self.star, self.double, self.nodes
        return others

    def fit(self, parameters: Sequence[Parameter]) -> bool:
        """Whether a function with these parameters may be called with them: otherwise Python raises a TypeError."""
        if self.star is not None:
            return True
        stars = {each.star for each in parameters}
        places = [each.name for each in parameters if each.positional and not each.star]
        given = {*places[: len(self.positional)], *self.keywords}
        fits = "*" in stars or len(self.positional) <= len(places)
        known = "**" in stars or given <= {each.name for each in parameters}
        needed = {each.name for each in parameters if not each.star and each.default is None}
        return fits and known and (self.double is not None or needed <= given)

    def are_those_of(self, node: cst.CSTNode) -> bool:
        """Whether they are the arguments that a call writes out, and no others: `f(*x)`, `partial(f, x)()`."""
        if not isinstance(node, cst.Call) or len(self.positional) + len(self.keywords) != len(node.args):
            return False
        return {id(each) for each in self.nodes.values()} == {id(each) for each in node.args}

    def named(self) -> Iterator[tuple[int | str, Value]]:
        """The arguments that are not starred, by position or name."""
        yield from enumerate(self.positional)
        yield from self.keywords.items()

    def all(self) -> list[Value]:
        values = [*self.positional, *self.keywords.values()]
        values.extend(value for value in (self.star, self.double) if value is not None)
        return values

    def differing(self) -> Value | None:
        """The first argument that differs between ranks."""
        return next((value for value in self.all() if value.rank.differs), None)

    def rank(self) -> ranks.Rank:
        return ranks.combine_all(value.rank for value in self.all() if value.kind is not Kind.CONTAINER)
