"""Observers of the interpretation, which emit events for the rules: one module per observer, found by this package."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from trl_lint.analysis.state.observing import Observer

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame


@cache
def all_observers() -> tuple[Observer[Frame], ...]:
    """Every observer, in the order of their modules."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return tuple(import_module(f"{__name__}.{name}").OBSERVER for name in names)
