"""The domains that are followed besides the rank, found by walking this package: one module per domain."""

from __future__ import annotations

import pkgutil
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from trl_lint.analysis.state.refining import Domain, Domains, in_order

if TYPE_CHECKING:
    from trl_lint.analysis.state.frame import Frame


@cache
def all_domains() -> tuple[Domain[Frame], ...]:
    """Every domain, in the order in which they refine a value."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return in_order(import_module(f"{__name__}.{name}").DOMAIN for name in names)


@lru_cache(4)
def overriding(domains: tuple[Domain[Frame], ...]) -> Domains[Frame]:
    """What these domains do at each hook: the same in each analysis."""
    return Domains(domains)
