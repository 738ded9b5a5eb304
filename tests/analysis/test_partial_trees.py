"""Trees of files that are only read in part equal those of the whole text once everything is accessed."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import libcst as cst
import pytest

from trl_lint.analysis.program.project import partial_trees
from trl_lint.analysis.program.project.partial_trees import WaitingBlock, is_whole, parsed, partly_parsed
from trl_lint.linter.linter import Linter
from trl_lint.linter.results import SourceError
from trl_lint.rules import all_rules
from trl_lint.settings import Settings

TEXTS = {
    "blanks": "def f():\n    # before\n\n    x = 1  # at the end\n    # behind\n\n# outside\ndef g():\n    pass\n",
    "class": 'class A:\n    """Text."""\n\n    @property\n    def f(self):\n        return 1\n\n    x = 1\n',
    "decorated first": "def f():\n    # why\n    @g\n    def h(): ...\n    return h\n",
    "comments": "def f():\n    if x:\n        # in\n        y()\n    # out\n    # more\n  # odd\nz = 1\n",
    "documented": 'def f():\n    """A (text.\n\ndef g():\n    not code\n    """\n    return 1\n',
    "f-string": "def f(x):\n    return f\"{x['a']} {{\" + f'''{x}'''\n\n\nclass A: pass\n",
    "in branches": "if x:\n    def f():\n        return 1\nelse:\n    try:\n        async def f():\n"
    "            await g()\n    except E:\n        pass\n",
    "long header": "def f(\n    a,  # one (\n    b=(1,\n       2),\n):\n    return {\n1: 2}\n",
    "nested": "def f():\n    def g():\n        return 1\n    return g\n",
    "narrow": "class A:\n  def f(self):\n      if x:\n        return 1\n      return 2\n",
    "on one line": "def f(): return 0\ndef g(): 0\ndef h():\n    0\n",
    "unusual": "def f():\r\n    return 1\r\n",
    "tabs": "def f():\n\treturn 1\n",
    "open end": "def f():\n    return 1",
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_tree_is_that_of_the_whole_text(name):
    tree = partly_parsed(TEXTS[name])
    assert tree.code == TEXTS[name]
    assert without_waiting(tree).deep_equals(cst.parse_module(TEXTS[name]))


def test_this_package_comes_out_as_it_is():
    for path in Path(partial_trees.__file__).parent.glob("*.py"):
        text = path.read_text()
        assert without_waiting(partly_parsed(text)).deep_equals(cst.parse_module(text))


def test_a_comment_behind_all_statements_stays_in_its_place():
    text = "def f():\n    if x:\n        y()\n        # in\n    # out\nz = 1\n"
    assert partly_parsed(text).code == text


def test_bodies_wait_until_they_are_asked_for(monkeypatch):
    parsed = []
    monkeypatch.setattr(partial_trees, "parsed", lambda text: parsed.append(text) or cst.parse_module(text))
    tree = partly_parsed("def f():\n    return first\n\ndef g():\n    return second\n")
    assert not any("first" in text or "second" in text for text in parsed)
    function = tree.body[1]
    assert isinstance(function, cst.FunctionDef)
    assert isinstance(function.body.body[0], cst.SimpleStatementLine)
    assert [("first" in text, "second" in text) for text in parsed] == [(False, False), (False, True)]


BROKEN = "def is_main(x):\n    print 'x'\n\n\ndef gathered(x):\n    return x\n"
USER = (
    "from accelerate import Accelerator\nfrom helper import gathered, is_main\n\naccelerator = Accelerator()\n\n\n"
    "def f(x):\n    if is_main(x):\n        accelerator.gather(x)\n"
)


def test_a_body_that_can_not_be_parsed_says_nothing():
    tree = partly_parsed(BROKEN)
    assert not is_whole(tree)
    assert isinstance(tree.body[0], cst.FunctionDef)
    assert tree.body[0].body.body


def test_what_has_been_parsed_stays_the_same():
    tree = partly_parsed("def f(x):\n    return x\n")
    function = tree.body[0]
    assert isinstance(function, cst.FunctionDef)
    (statement,) = function.body.body
    assert is_whole(tree)
    assert function.body.body[0] is statement


def test_what_a_file_was_found_to_do_has_its_place_once_that_is_linted(tmp_path):
    helper = (
        "from accelerate import Accelerator\n\naccelerator = Accelerator()\n\n\n"
        "def joined(loss):\n    return accelerator.gather(loss.item())\n"
    )
    (tmp_path / "helper.py").write_text(helper)
    linter = Linter(Settings(), (tmp_path,), all_rules())
    user = (
        "from helper import joined\nimport accelerate\n\n\ndef f(model, batch):\n    return joined(model(batch).loss)\n"
    )
    linter.check(tmp_path / "user.py", user.encode())
    found = linter.check(tmp_path / "helper.py", helper.encode())
    assert [(each.code, each.start.line) for each in found] == [("TRL001", 7)]


def test_a_file_is_parsed_as_a_whole_once_it_is_linted(tmp_path):
    (tmp_path / "helper.py").write_text(BROKEN)
    linter = Linter(Settings(), (tmp_path,), all_rules())
    assert linter.check(tmp_path / "user.py", USER.encode()) == []
    with pytest.raises(SourceError):
        linter.check(tmp_path / "helper.py", b"import accelerate\n" + BROKEN.encode())
    with pytest.raises(SourceError):
        linter.check_code(tmp_path / "helper.py", BROKEN.encode())


def without_waiting(tree):
    """A tree whose blocks are instances of LibCST's own class, which it compares as well."""
    return tree.visit(Plain())


class Plain(cst.CSTTransformer):
    def leave_IndentedBlock(self, original_node, updated_node):
        if not isinstance(original_node, WaitingBlock):
            return updated_node
        parts = {name: getattr(updated_node, name) for name in ("header", "indent", "footer")}
        return cst.IndentedBlock(updated_node.body, **parts)


@pytest.mark.parametrize("text", ["x = 1\n", "x = (\n"])
def test_nodes_that_are_made_behind_a_parse_are_validated(text):
    with suppress(cst.ParserSyntaxError):
        parsed(text)
    with pytest.raises(cst.CSTValidationError):
        cst.Name("")
