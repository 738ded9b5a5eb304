"""Kinds of nodes that come back in the signatures of fixes."""

from __future__ import annotations

from typing import TypeAlias

import libcst as cst

# A function, or the module around all of them: where names are bound and looked for.
Scope: TypeAlias = cst.FunctionDef | cst.Lambda | cst.Module
# The nodes around a node, from the root inwards.
Path: TypeAlias = tuple[cst.CSTNode, ...]
# What statements stand in, each on lines of its own.
Block: TypeAlias = cst.IndentedBlock | cst.Module
BLOCKS = (cst.IndentedBlock, cst.Module)
# An expression, and the one that takes its place.
Replacement: TypeAlias = tuple[cst.BaseExpression, cst.BaseExpression]
