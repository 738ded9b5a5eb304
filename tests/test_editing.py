"""The text that a fix writes equals that of writing out the whole tree, byte for byte."""

from __future__ import annotations

from functools import cache

import libcst as cst
import pytest
from test_fix_properties import BROKEN, FIXTURES, FORMS, RANK_GUARDED, identity, linter, plain
from whole_trees import check_writing

from trl_lint.linter.locate import LocatedViolation
from trl_lint.linter.rewriting.regenerating import Written
from trl_lint.linter.rewriting.text_edits import transformed

# What no fixture has: a condition of which one part stays around the call on all ranks.
PARTED = (
    RANK_GUARDED.format(line="found = accelerator.gather(loss)")
    .replace("for batch in loader", "for step, batch in enumerate(loader)")
    .replace("if accelerator.is_main_process", "if step % 5 == 0 and accelerator.is_main_process")
)
TEXTS = {identity(path): (path, plain(path)) for path in BROKEN} | {"parted": (FIXTURES / "snippet.py", PARTED)}


@cache  # a test compares how it is written, and another one what it asks for
def reported(name: str, form: str | None = None) -> list[LocatedViolation]:
    path, text = TEXTS[name]
    source = text.encode() if form is None else FORMS[form].write(text)
    return linter(path).report(path, source)


# `test_fix_properties.py` covers the forms of the fixtures, where they are fixed.
@pytest.mark.parametrize(("name", "form"), [*((name, None) for name in TEXTS), *(("parted", form) for form in FORMS)])
def test_the_text_of_a_fix_is_that_of_the_whole_tree(name: str, form: str | None) -> None:
    check_writing(reported(name, form))


def test_the_texts_ask_for_edits_of_all_kinds() -> None:
    kinds = set()
    for name in TEXTS:
        for each in (each for each in reported(name) if each.fix.plan is not None):
            kinds.update(type(edit).__name__ for edit in each.fix.plan.edits)
            assert transformed([each.fix]) != each.violation.module.tree.code
    assert kinds == {"Replace", "Insert", "Enclose", "Move", "Drop", "Part", "LeaveOut", "Import", "ExtendImport"}


TREE = """# header

import a


class A(B):  # of a kind

    x = 1

    def f(self):
        if x:
            one()
            two()
        else:
            three()
    # behind

    def g(self): return 1


# footer
"""


class _Swap(cst.CSTTransformer):
    """Replaces small statements, comments and names, by their code."""

    def __init__(self, tree: cst.Module, swapped: dict[str, str]) -> None:
        super().__init__()
        self.tree, self.swapped = tree, swapped

    def on_leave(self, original_node, updated_node):
        by = self.swapped.get(self.tree.code_for_node(original_node))
        match original_node:
            case cst.BaseSmallStatement() if by is not None:
                return cst.parse_statement(by).body[0] if by else cst.RemoveFromParent()
            case cst.Comment() | cst.Name() if by is not None:
                return original_node.with_changes(value=by)
        return original_node if original_node.deep_equals(updated_node) else updated_node


@pytest.mark.parametrize(
    "swapped",
    [
        {},
        {"one()": "four()"},
        {"one()": "four()", "three()": "four()"},
        {"import a": "import b", "x = 1": "x = 2", "two()": "four()"},
        {"one()": ""},
        {"one()": "", "two()": ""},
        {"x = 1": ""},
        {"import a": ""},
        {"import a": "", "return 1": "return 2"},
        {"# header": "# head"},
        {"# footer": "# foot"},
        {"# behind": "# after"},
        {"# of a kind": "# of another"},
        {"B": "C"},
    ],
)
@pytest.mark.parametrize("text", [TREE, TREE.removesuffix("\n# footer\n"), TREE.removesuffix("\n")], ids=len)
def test_what_differs_is_written_where_it_stands(text: str, swapped: dict[str, str]) -> None:
    tree = cst.parse_module(text)
    new = tree.visit(_Swap(tree, swapped))
    assert Written(tree).after(new) == new.code
    assert (new.code != text) == any(old in text for old in swapped)
