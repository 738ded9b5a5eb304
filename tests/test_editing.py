"""What a fix writes out anew is what writing out the whole tree gives, to the byte."""

from __future__ import annotations

from pathlib import Path

import libcst as cst
import pytest
from test_fix_properties import BROKEN, FORMS, identity, linter, plain

from trl_lint.fixes.support.editing import Editing, all_edits
from trl_lint.linter.fixing import transformed
from trl_lint.linter.regenerating import written


class Everywhere(Editing):
    """Looks into all nodes, so that all are made anew."""

    def on_visit(self, node: cst.CSTNode) -> bool:
        return True


def sample(path: Path, form: str | None):
    """The findings of a fixture that have a plan, and their module."""
    source = plain(path).encode() if form is None else FORMS[form].write(plain(path))
    return [each for each in linter().report(path, source) if each.problem.plan is not None]


@pytest.mark.parametrize("form", [None, *FORMS])
@pytest.mark.parametrize("path", BROKEN, ids=identity)
def test_the_text_of_a_fix_is_that_of_the_whole_tree(path: Path, form: str | None) -> None:
    found = sample(path, form)
    groups = [[each] for each in found]
    groups += [[each for each in found if each.rule is rule] for rule in {each.rule for each in found}]
    for group in groups:
        problems = [each.problem for each in group]
        module = problems[0].module
        edits = all_edits(module, [each.plan for each in problems])
        assert transformed(group[0].rule, problems) == module.tree.visit(Everywhere(module.tree, edits)).code
        assert written(module).code == module.tree.code


def test_fixtures_have_fixes_of_all_kinds() -> None:
    """What is compared above are texts that differ, with every kind of edit among them."""
    kinds = set()
    for path in BROKEN:
        for each in sample(path, None):
            kinds.update(type(edit).__name__ for edit in each.problem.plan.edits)
            assert transformed(each.rule, [each.problem]) != each.problem.module.tree.code
    assert kinds == {"Replace", "Insert", "Enclose", "Move", "Part", "Import"}
