"""How IPython transforms a cell before Python parses it."""

from __future__ import annotations

import ast

import pytest

from trl_lint.linter.cells.ipython import python_lines

# A cell, and what Python parses.
CELLS = {
    "magic": ("%pip install trl\nx = 1\n", "# %pip install trl\nx = 1\n"),
    "shell": ("!ls\n!!ls\nx = 1", "# !ls\n# !!ls\nx = 1"),
    "in a block": ("if x:\n    !ls\n    %cd ..\n", "if x:\n    pass  # !ls\n    pass  # %cd ..\n"),
    "goes on": ("!pip install \\\n  trl \\\n  peft\nx = 1\n", "# !pip install \\\n#   trl \\\n#   peft\nx = 1\n"),
    "assigned": ("files = !ls\n", "files = get_ipython()  # !ls\n"),
    "item assigned": ("d['a'], b = %who_ls\n", "d['a'], b = get_ipython()  # %who_ls\n"),
    "timed": ("%time trainer.train()\n", "trainer.train()\n"),
    "timed in a block": ("if x:\n    %timeit -n 10 -r3 f(x)\n", "if x:\n    f(x)\n"),
    "help": ("trainer?\ntrainer.train??\n?trainer\n", "# trainer?\n# trainer.train??\n# ?trainer\n"),
    "a question": ("# why?\nprint('why?')\n", "# why?\nprint('why?')\n"),
    "a modulo": ("x = (1\n%2)\ny = x %2\n", "x = (1\n%2)\ny = x %2\n"),
    "a modulo behind a backslash": ("x = 1 \\\n%2\n", "x = 1 \\\n%2\n"),
    "a string": ("'''\n!ls\n%cd\n'''\n!ls\n", "'''\n!ls\n%cd\n'''\n# !ls\n"),
    "brackets in a string": ("x = '('\n!ls\n", "x = '('\n# !ls\n"),
    "brackets in a comment": ("x = 1  # (\n!ls\n", "x = 1  # (\n# !ls\n"),
    "no assignment of a magic": ("x = y % z\nx != y\n", "x = y % z\nx != y\n"),
    "automagic": ("pip install -q trl\nmkdir -p out\n", "# pip install -q trl\n# mkdir -p out\n"),
    "no automagic": ("cat - x\nmv is None\nrm in x\n", "cat - x\nmv is None\nrm in x\n"),
    "timed cell": ("%%time\nx = 1\n!ls\n", "# %%time\nx = 1\n# !ls\n"),
    "two cell magics": ("\n%%capture out\n%%time\nx = 1\n", "\n# %%capture out\n# %%time\nx = 1\n"),
    "shell cell": ("%%bash\npython train.py  # noqa\n", "# %%bash\n# python train.py  # noqa\n"),
    "written file": ("%%time\n%%writefile train.py\nimport os\n", "# %%time\n# %%writefile train.py\n# import os\n"),
    "indented": ("  x = 1\n  if x:\n    !ls\n", "x = 1\nif x:\n  pass  # !ls\n"),
    "pasted": (">>> for x in y:\n...     f(x)\n...\n>>> !ls\n", "for x in y:\n    f(x)\n\n# !ls\n"),
    "an ellipsis": ("...\nx = 1\n", "...\nx = 1\n"),
    "a semicolon": ("plt.plot();\n", "plt.plot();\n"),
    "top-level await": ("await f()\nasync for x in y: pass\n", "await f()\nasync for x in y: pass\n"),
    "line ends": ("!ls\r\nx = 1\r\n", "# !ls\r\nx = 1\r\n"),
    "empty": ("", ""),
}


@pytest.mark.parametrize("name", CELLS)
def test_what_python_reads(name):
    cell, expected = CELLS[name]
    lines = python_lines(cell)
    assert "".join(each.text for each in lines) == expected
    ast.parse(expected)


@pytest.mark.parametrize("name", CELLS)
def test_only_lines_that_python_reads_as_they_are_written_may_be_changed(name):
    cell, _ = CELLS[name]
    for written, line in zip(cell.splitlines(keepends=True), python_lines(cell), strict=True):
        assert written == line.prefix + line.text or not line.own


def test_a_line_behind_a_magic_may_not_be_changed():
    """A new line next to it would belong to the magic, too."""
    assert [each.own for each in python_lines("%time f()\nx = 1\n")] == [False, True]
