"""The names that a file binds, anywhere in it."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import of_class
from trl_lint.fixes.support.scope import bound_names

# Code that can bind names that do not appear in the text.
_BINDS_ANY = (
    rb"\b(?:exec|execfile|globals|locals)\(|\bvars\(\s*\)",
    rb"\b(?:__builtins__|builtins|f_globals|sys\.modules)\b",
)


def names_bound(module: Module) -> frozenset[str] | None:
    """The names; None if they can't be determined."""
    return module.notes.cached(names_bound, lambda: _names_bound(module))


def _names_bound(module: Module) -> frozenset[str] | None:
    if of_class(module.tree, cst.ImportStar) or any(map(module.mentions, _BINDS_ANY)):
        return None
    return frozenset(bound_names(module.tree))
