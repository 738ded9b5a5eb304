"""What holds for every fix of a report: it writes the text of the whole tree, and is trusted as far as it says."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from trl_lint.findings import Applicability
from trl_lint.fixes import fix_of
from trl_lint.fixes.support.editing import Editing, all_edits
from trl_lint.linter.locate import LocatedViolation
from trl_lint.linter.rewriting.line_length import limit_for
from trl_lint.linter.rewriting.regenerating import written
from trl_lint.linter.rewriting.text_edits import transformed


class Everywhere(Editing):
    """Descends into all nodes, so that all are written again."""

    def on_visit(self, node: cst.CSTNode) -> bool:
        super().on_visit(node)
        return True


def check_writing(reported: Sequence[LocatedViolation]) -> None:
    """Every fix of a text alone, and those of each rule together, give the same bytes both ways."""
    found = [each for each in reported if each.fix.plan is not None]
    groups = [[each for each in found if each.rule is rule] for rule in {each.rule for each in found}]
    groups += [[each] for each in found if [each] not in groups]
    for group in groups:
        module = group[0].violation.module
        edits = all_edits(module, [each.fix.plan for each in group])
        assert (
            transformed([each.fix for each in group])
            == module.tree.visit(Everywhere(module.tree, edits, limit_for(module.path, module.text))).code
        )
        assert written(module).code == module.tree.code


def check_trust(each: LocatedViolation) -> None:
    """No part of a finding is trusted further than its fix says."""
    fix = fix_of(each.rule.fix_module)
    possible = {Applicability.DISPLAY} if fix is None else set(fix.applicabilities)
    assert {part.applicability for part in each.parts} - {None} <= possible, each.finding
