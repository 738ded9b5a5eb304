"""Code as messages show it: on one line, and cut if it is long."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from libcst import CSTNode

    from trl_lint.domain.provenance import SourceModule, Step

# The maximum length of a node's source in a line.
_SHOWN = 60
# What remains of line ends inside brackets.
_JOINED = re.compile(r"(?<=[(\[{]) |,? (?=[)\]}])")


def source_of(step: Step) -> str:
    """The source of the node of a step, on one line."""
    return shown_source(step.module, step.node)


def shown_source(module: SourceModule, node: CSTNode) -> str:
    """The source of a node, on one line."""
    code = module.tree.code_for_node(node)
    source = " ".join(code.split())
    if "\n" in code:
        source = _JOINED.sub("", source)
    return source if len(source) <= _SHOWN else f"{source[: _SHOWN - 3]}..."
