"""Observers of the interpretation, which emit events for the rules: one module per observer, found by this package."""

from __future__ import annotations

import pkgutil
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from trl_lint.analysis.state.observing import Observer, Observers, observers_for

if TYPE_CHECKING:
    from trl_lint.analysis.events import Event
    from trl_lint.analysis.state.frame import Frame


@cache
def all_observers() -> tuple[Observer[Frame], ...]:
    """Every observer, in the order of their modules."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(import_module(f"{__name__}.{name}").OBSERVER for name in names)


@lru_cache(32)
def needed(observers: tuple[Observer[Frame], ...], events: frozenset[type[Event]] | None) -> Observers[Frame]:
    """The hooks of those that are needed if these events are requested: the same for each analysis that asks so."""
    return Observers(observers_for(observers, events))
