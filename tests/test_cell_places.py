"""Which lines of a notebook change with its module, and how they are written into its JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from notebooks import notebook, sources_of

from trl_lint.findings import Position
from trl_lint.launch.parsers.notebook_places import CellPlaces
from trl_lint.linter.cells.notebook import read_notebook
from trl_lint.linter.cells.places import CodePart, NotInside
from trl_lint.linter.decoding import lines_of

PATH = Path("/nb.ipynb")


def part_of(text: str) -> CodePart:
    (part,) = read_notebook(PATH, text.encode()).parts
    return part


def changed(text: str, new: str) -> str:
    """The notebook whose module is `new`."""
    document = read_notebook(PATH, text.encode())
    (part,) = document.parts
    return document.changed(part.changes(new)).decode()


# Cells, the line of the module before which a line is inserted (by the fixes' editing), and the new cells.
PLACES = {
    "in a cell": (["a = 1\nb = 2"], "b = 2", "new()", ["a = 1\nnew()\nb = 2"]),
    "below a magic": (["a = 1", "%%time\nb = 2"], "# %% 2", "new()", ["a = 1", "%%time\nnew()\nb = 2"]),
    "past a shell": (["a = 1", "%%bash\nls", "b = 2"], "# %% 2", "new()", ["a = 1", "%%bash\nls", "new()\nb = 2"]),
    "above a shell line": (["a = 1\n!ls\nb = 2"], "# !ls", "new()", ["a = 1\nnew()\n!ls\nb = 2"]),
    "an import to imports": (["import a", "b = 2"], "# %% 2", "import new", ["import a\nimport new", "b = 2"]),
    "an import to none": (["a = 1", "import b"], "# %% 2", "import new", ["a = 1", "import new\nimport b"]),
    "the end of a block": (["if x:\n  f()", "b = 2"], "# %% 2", "  new()", ["if x:\n  f()\n  new()", "b = 2"]),
    "the last line": (["a = 1", "b = 2"], "", "new()", ["a = 1", "b = 2\nnew()"]),
    "an indented cell": (["  a = 1\n  b = 2"], "b = 2", "new()", ["  a = 1\n  new()\n  b = 2"]),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_where_a_new_line_goes(name):
    cells, before, line, expected = PLACES[name]
    text = notebook(*cells)
    module = part_of(text).text
    at = module.index(before + "\n") if before else len(module)
    assert sources_of(changed(text, f"{module[:at]}{line}\n{module[at:]}")) == expected


@pytest.mark.filterwarnings("error")
def test_cells_that_python_warns_of_or_that_is_too_deep():
    warned = "a = '\\d'\nimport b"
    text = notebook(warned, "c = 3")
    new = part_of(text).text.replace("# %% 2\n", "import new\n# %% 2\n")
    assert sources_of(changed(text, new)) == [f"{warned}\nimport new", "c = 3"]
    deep = f"a = {'-' * 100_000}1"
    text = notebook(deep, "c = 3")
    new = part_of(text).text.replace("# %% 2\n", "import new\n# %% 2\n")
    assert sources_of(changed(text, new)) == [deep, "import new\nc = 3"]


def test_a_new_line_goes_to_the_cell_that_is_changed_besides():
    text = notebook("a = 1\nb = 2", "c = 3")
    module = part_of(text).text
    new = module.replace("# %% 2\n", "new()\n# %% 2\n")
    assert sources_of(changed(text, new.replace("b = 2", "b = 4"))) == ["a = 1\nb = 4\nnew()", "c = 3"]
    assert sources_of(changed(text, new.replace("c = 3", "c = 4"))) == ["a = 1\nb = 2", "new()\nc = 4"]


def test_lines_that_several_cells_have_are_not_taken_for_each_other():
    loop = "for x in y:\n    f(x)\n"
    text = notebook(loop, loop + "g()", loop)
    new = part_of(text).text.replace(loop, f"h()\n{loop}")
    assert sources_of(changed(text, new)) == [f"h()\n{loop}", f"h()\n{loop}g()", f"h()\n{loop}"]


def test_a_magic_keeps_its_place_between_lines_that_become_equal():
    text = notebook("\n%cd ..\nc = 3\n\na = 1")
    assert sources_of(changed(text, "# %% 1\nnew\n# %cd ..\nnew\n\na = 2\n")) == ["new\n%cd ..\nnew\n\na = 2"]


@pytest.mark.parametrize("new", ["# %% 1\nx = 1\n# !ll\n", "# %% 1\nx = 1\n", "# !ls\nx = 1\n"])
def test_what_is_not_written_as_python_is_not_changed(new):
    part = part_of(notebook("x = 1\n!ls"))
    with pytest.raises(NotInside):
        part.changes(new)


def test_a_notebook_of_magics_alone_has_no_room():
    part = part_of(notebook("!ls"))
    with pytest.raises(NotInside):
        part.changes(f"x = 1\n{part.text}")


# --- the JSON --------------------------------------------------------------------------------------------

_LINES = st.lists(
    st.sampled_from(["a = 1", "b = 'é\\\\\"'", "c = '😀\\t'", "", "  ", "%cd ..", "# x\u2028y", '"""d"""']), max_size=6
)
_LAYOUTS = st.fixed_dictionaries({"indent": st.sampled_from([None, 1, 4, "\t"]), "ensure_ascii": st.booleans()})


def _as(form: str, text: str, **layout) -> str:
    """The notebook with its sources as lists of lines, as one string each, or as lists of pieces."""
    whole = json.loads(text)
    for cell in whole["cells"]:
        source = "".join(cell["source"])
        cell["source"] = {"lines": cell["source"], "one": source, "pieces": [source[:5], "", source[5:]]}[form]
    return json.dumps(whole, **layout)


@settings(max_examples=60, deadline=None)
@given(st.lists(_LINES, min_size=1, max_size=3), st.sampled_from(["lines", "one", "pieces"]), _LAYOUTS, st.data())
def test_only_the_strings_of_changed_lines_are_written_anew(cells, form, layout, data):
    text = _as(form, notebook(*("\n".join(each) for each in cells)), **layout)
    part = part_of(text)
    lines = lines_of(part.text)
    own = [at for at, each in enumerate(part.lines) if each.own]
    for at in data.draw(st.sets(st.sampled_from(own), max_size=3)) if own else ():
        lines[at] = data.draw(st.sampled_from(["new = 'ü\"'\n", "if new:\n    x = 1\n", "new\n"]))
    new = "".join(lines)
    result = changed(text, new)
    assert part_of(result).text == new
    before, after = json.loads(text), json.loads(result)
    for one, other in zip(before["cells"], after["cells"], strict=True):
        assert isinstance(one["source"], type(other["source"]))
        one["source"] = other["source"] = None
    assert before == after
    if new == part.text:
        assert result == text


def test_a_list_keeps_its_layout():
    text = '{"cells": [{"source": ["a = 1\\n",\n\n  "b = \\u00e9" ], "cell_type": "code"}]}'
    assert changed(text, "# %% 1\nc = 3\na = 2\nb = é\n") == text.replace('"a = 1\\n"', '"c = 3\\n",\n\n  "a = 2\\n"')
    assert changed(text, "# %% 1\nb = é\n") == text.replace('"a = 1\\n",\n\n  ', "")
    assert changed(text, "# %% 1\na = 1\n") == text.replace('1\\n",\n\n  "b = \\u00e9"', '1"')


# --- places ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["lines", "one", "pieces"])
def test_each_place_of_a_cell_has_one_in_the_file_and_in_the_module(form):
    text = _as(form, notebook(("markdown", "x"), "%%time\na = 'é\"'\n  \nb = 1", "  c = 2\n  d = 3"), indent=1)
    part, places = part_of(text), CellPlaces(text)
    rows = text.split("\n")
    for number, line in enumerate(part.text.split("\n")[:-1], 1):
        if part.lines[number - 1].is_mark:
            continue
        there = part.to_file(Position(number, 1))
        assert part.to_module(there) == Position(number, 1)
        written = places.in_file(there)
        shown = json.dumps(line.removeprefix("# "))[1:4].strip('"')
        assert rows[written.line - 1][written.column - 1 :].startswith(shown)
        offset = sum(len(each) + 1 for each in rows[: written.line - 1]) + written.column - 1
        assert places(offset) == there


def test_a_place_behind_the_end_is_one_of_the_last_cell():
    part = part_of(notebook("a = 1", "b = 2"))
    assert part.to_file(Position(5, 1)) == Position(2, 1, cell=2)
    assert part.to_module(Position(7, 1, cell=1)) is None
