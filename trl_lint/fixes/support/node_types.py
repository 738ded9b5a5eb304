"""Types of nodes that are used in the signatures of fixes."""

from __future__ import annotations

from typing import TypeAlias

import libcst as cst

# A function, or the module that contains all of them: where names are bound and resolved.
Scope: TypeAlias = cst.FunctionDef | cst.Lambda | cst.Module
# The nodes around a node, from the root inwards.
Path: TypeAlias = tuple[cst.CSTNode, ...]
# What contains statements, each on separate lines.
Block: TypeAlias = cst.IndentedBlock | cst.Module
BLOCKS = (cst.IndentedBlock, cst.Module)
# An expression and its replacement.
Replacement: TypeAlias = tuple[cst.BaseExpression, cst.BaseExpression]
