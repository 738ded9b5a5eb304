"""The names that a file binds, wherever in it that is."""

from __future__ import annotations

import libcst as cst

from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import of_class
from trl_lint.fixes.support.scope import bound_names

# What binds names that do not stand there.
_BINDS_ANY = (
    rb"\b(?:exec|execfile|globals|locals)\(|\bvars\(\s*\)",
    rb"\b(?:__builtins__|builtins|f_globals|sys\.modules)\b",
)


def names_bound(module: Module) -> frozenset[str] | None:
    """The names; None where that can't be told."""
    return module.notes.worked_out(names_bound, lambda: _names_bound(module))


def _names_bound(module: Module) -> frozenset[str] | None:
    if of_class(module.tree, cst.ImportStar) or any(map(module.mentions, _BINDS_ANY)):
        return None
    return frozenset(bound_names(module.tree))
