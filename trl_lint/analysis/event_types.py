"""The classes of events that a rule, or a fix, is about: those in the brackets of its base."""

from __future__ import annotations

from typing import Any, TypeVar, get_args

from trl_lint.analysis.events import Event

EventT = TypeVar("EventT", bound=Event)


def types_of(cls: type[Any]) -> tuple[type[Event], ...]:
    """The events that the base of a class names: A and B for `Rule[A | B]`."""
    (about,) = get_args(cls.__orig_bases__[0])
    return get_args(about) or (about,)
