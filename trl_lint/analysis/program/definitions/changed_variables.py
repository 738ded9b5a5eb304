"""Class variables whose contents code of their file changes: `self.env["MASTER_PORT"] = "1"`, `cls.known.append(x)`."""

from __future__ import annotations

import re

from trl_lint.analysis.program.project.project import Module

_METHODS = rb"add|append|clear|extend|insert|pop|popitem|remove|setdefault|update"


def is_changed(module: Module, name: str) -> bool:
    """Whether the contents of a class variable of this name may be others when a method reads them."""
    word = rb"\." + re.escape(name.encode())
    by_method = word + rb"\.(?:" + _METHODS + rb")\("
    by_index = word + rb"\[[^\]\n]*\]\s*(?:[-+*/|&]|//)?=[^=]"
    replaced = word + rb"\s*(?:[-+*/|&]|//)?=[^=]"
    return module.mentions(rb"(?:" + by_method + rb"|" + by_index + rb"|" + replaced + rb")")
