"""What all commands share: they ask the linter for the findings of their rule, or are given some of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import libcst as cst
from libcst.codemod import CodemodContext, VisitorBasedCodemodCommand

from trl_lint.findings import Applicability
from trl_lint.rules.base import Problem


class FindingCommand(VisitorBasedCodemodCommand):
    """A command that replaces the nodes its rule found.

    Alone (`python -m libcst.tool codemod -x trl_lint.codemods.<module>.<Command> PATH`) it applies the safe
    fixes of a file; the linter hands it the `problems` it has chosen.
    """

    CODE: ClassVar[str]

    def __init__(self, context: CodemodContext, problems: Sequence[Problem] | None = None) -> None:
        super().__init__(context)
        self.problems = problems
        self.by_node: dict[int, Problem] = {}

    def transform_module_impl(self, tree: cst.Module) -> cst.Module:
        if self.problems is None:
            from trl_lint.linter import problems_of

            path = Path(self.context.filename or "<string>")
            found = problems_of(path, tree.code, self.CODE)
            self.problems = [each for each in found if each.applicability is Applicability.SAFE]
        mended = [problem for problem in self.problems if problem.plan is not None]
        if not mended:
            return tree
        self.by_node = {id(problem.node): problem for problem in mended}
        # LibCST hands over a copy; findings point into the tree they were found in.
        return super().transform_module_impl(mended[0].module.tree)

    def problem_at(self, node: Any) -> Problem | None:
        """The finding to mend at a node of the original tree."""
        return self.by_node.get(id(node))
