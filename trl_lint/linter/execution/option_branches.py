"""Code of a program that runs only with one of its options.

For example:

    parser.add_argument("--do_pred", action="store_true")
    if args.do_pred or args.do_eval is not None:
        open(path, "w")
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import pairwise

import libcst as cst

from trl_lint.analysis.program.idioms.path_conditions import alternatives, parts_of
from trl_lint.analysis.program.project.project import Module
from trl_lint.analysis.program.syntax import ancestors

# Sets an option by default.
_ON = rb"[\"']--%b[\"'](?:[^()]|\([^()]*\))*?(?:store_false|default\s*=\s*(?!None\b|False\b))"


def is_behind_option(module: Module, node: cst.CSTNode, options: Collection[str]) -> bool:
    """Whether a node is in a branch taken only with one of these options, none of which is on by default."""
    if not options:
        return False
    asked = (frozenset(map(_option, alternatives(test))) for test in _tests_around(module, node))
    return any(names.issubset(options) and not any(_is_on(module, name) for name in names) for names in asked)


def _is_on(module: Module, option: str) -> bool:
    """Whether an option is on by default."""
    return re.search(_ON % option.encode(), module.source or b"") is not None


def _tests_around(module: Module, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The conditions that hold at a node because of the branches around it."""
    for outer, inner in pairwise((*ancestors(module.tree, node), node)):
        if isinstance(outer, cst.If) and inner is outer.body:
            yield from parts_of(outer.test)


def _option(test: cst.CSTNode) -> str:
    """The attribute that a test reads: `args.name`, `args.name is not None`; "" for another test."""
    match test:
        case cst.Comparison(
            left=cst.Attribute(attr=cst.Name(value=name)),
            comparisons=[cst.ComparisonTarget(operator=cst.IsNot(), comparator=cst.Name(value="None"))],
        ):
            return name
        case cst.Attribute(attr=cst.Name(value=name)):
            return name
    return ""
