"""What all commands share: each has the linter apply the safe fixes of its rule, and finds nothing itself."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import libcst as cst
from libcst.codemod import VisitorBasedCodemodCommand


class FindingCommand(VisitorBasedCodemodCommand):
    """A command that makes the safe fixes of one rule.

    It is run as `python -m libcst.tool codemod -x trl_lint.codemods.<module>.<Command> PATH`.
    """

    CODE: ClassVar[str]

    def transform_module_impl(self, tree: cst.Module) -> cst.Module:
        from trl_lint.linter.fixing import mended

        path = Path(self.context.filename or "<string>")
        source = mended(path, tree.bytes, self.CODE)
        return tree if source == tree.bytes else cst.parse_module(source)
