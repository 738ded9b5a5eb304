"""What stands behind a name that nothing binds is not in the default set: who gets to the name gets no further."""

from __future__ import annotations

from pathlib import Path

import pytest
from notebooks import notebook

from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

PROGRAM = """
import contextlib, json, torch
from accelerate import Accelerator
{top}
accelerator = Accelerator()
{names}

def total(rows, model{parameter}):
    {before}
    accelerator.gather(rows.sum().item())

{behind}
"""


def text(before: str = "pass", top: str = "", names: str = "", parameter: str = "", behind: str = "") -> str:
    return PROGRAM.format(before=before, top=top, names=names, parameter=parameter, behind=behind)


def by_default(program: str, path: str = "train.py") -> list[bool]:
    found = Linter(Settings(), (Path(),), (find_rule("TRL001"),)).check(Path(path), program.encode())
    return [each.by_default for each in found]


READ = "score = accuracy(rows)"


@pytest.mark.parametrize(
    "before",
    [
        READ,
        "rows = rows * accuracy",
        "json.dumps(accuracy.values)",
        "json.dumps([*accuracy, 3], indent=accuracy)",
        "print(f'{accuracy:.2f}')",
        "if accuracy: pass",
        "for each in accuracy: pass",
        "while accuracy: pass",
        "with accuracy: pass",
        "found = [each for each in accuracy]",
        "either = accuracy or rows",
        "at_least = 0 < accuracy < 5",
        "try:\n        accuracy(rows)\n    finally:\n        pass",
        "try:\n        pass\n    except Exception:\n        pass\n    finally:\n        accuracy(rows)",
        "def later(x=accuracy): pass",
        "class Later(accuracy): pass",
        "class Later:\n        field = accuracy",
        "@accuracy\n    def later(): pass",
    ],
)
def test_a_name_that_is_surely_read(before):
    assert by_default(text(before)) == [False]


@pytest.mark.parametrize(
    "before",
    [
        "pass",
        "score = rows.accuracy",
        "json.dumps(rows, accuracy=3)",
        "if rows: accuracy(rows)",
        "for each in rows: accuracy(each)",
        "while rows: accuracy(rows)",
        "with contextlib.suppress(NameError): accuracy(rows)",
        "try:\n        accuracy(rows)\n    except NameError:\n        pass",
        "try:\n        accuracy(rows)\n    except Exception:\n        pass",
        "found = [accuracy(each) for each in rows]",
        "found = [each for each in rows if accuracy]",
        "found = lambda: accuracy",
        "either = rows or accuracy",
        "either = rows if len(rows) else accuracy",
        "at_least = 0 < len(rows) < accuracy",
        "def later(): return accuracy",
        "def later(x: 'accuracy'): pass",
        "kind: accuracy = 3",
        "assert accuracy",  # not with -O
        "if not rows:\n        raise accuracy",
        "score = print(__file__, __name__, __spec__)",
        "score = profile(rows)",  # of kernprof
        "score = exit if rows else quit",
    ],
)
def test_a_name_that_may_not_be_read_or_is_there(before):
    assert by_default(text(before)) == [True]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"top": "from rewards import accuracy"}, True),
        ({"top": "from rewards import better as accuracy"}, True),
        ({"top": "from rewards import accuracy as better"}, False),
        ({"top": "from rewards import *"}, True),
        ({"top": "import accuracy.better"}, True),
        ({"top": "import better.accuracy"}, False),
        ({"top": "from typing import TYPE_CHECKING\nif TYPE_CHECKING: from rewards import accuracy"}, True),
        ({"top": "try:\n    from rewards import accuracy\nexcept ImportError:\n    pass"}, True),
        ({"parameter": ", accuracy=None"}, True),
        ({"names": "accuracy = None"}, True),
        ({"names": "accuracy: int"}, True),
        ({"names": "(accuracy, other), *rest = both = [(1, 2)]"}, True),
        ({"names": "for accuracy in range(3): pass"}, True),
        ({"names": "print(accuracy := 3)"}, True),
        ({"names": "try:\n    pass\nexcept OSError as accuracy:\n    pass"}, True),
        ({"names": "del accuracy"}, True),
        ({"behind": "def accuracy(rows): pass"}, True),
        ({"behind": "class accuracy: pass"}, True),
        ({"behind": "def prepare():\n    global accuracy\n    accuracy = 3"}, True),
        ({"behind": "def prepare():\n    globals()['accuracy'] = 3"}, True),
        ({"behind": "def prepare(name):\n    globals()[name] = 3"}, True),
        ({"behind": "def prepare(path):\n    exec(open(path).read())"}, True),
        ({"behind": "def prepare(name):\n    setattr(sys.modules[__name__], name, 3)"}, True),
        ({"behind": "import builtins\nbuiltins.accuracy = 3"}, True),
        ({"behind": "print(get_ipython())"}, True),
        ({"behind": "# %%\nprint('an editor runs it part by part')"}, True),
        ({"behind": "class Own:\n    accuracy = 3"}, True),  # bound somewhere: not looked into
        ({"behind": "class Own:\n    def __init__(self):\n        self.accuracy = 3"}, False),
        ({"behind": "def other(**options): other(accuracy=3)"}, False),
        ({"behind": "'accuracy is what counts'"}, False),
        ({"names": "def other(): return another()"}, False),
        # A piece of a program, which somebody looks at without the rest.
        ({"names": "def other(): return another(and_another)"}, True),
    ],
)
def test_what_binds_a_name(where, expected):
    assert by_default(text(READ, **where)) == [expected]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"top": "SIZE = accuracy(3)"}, False),
        ({"behind": "SIZE = accuracy(3)\nif __name__ == '__main__':\n    total([], None)"}, False),
        ({"behind": "def other(): pass\nclass Own(dict):\n    size = accuracy(3)"}, False),
        ({"behind": "if __name__ == '__main__':\n    total([], None)\nSIZE = accuracy(3)"}, True),
        ({"behind": "class Own:\n    size = total([], None)\nSIZE = accuracy(3)"}, True),
        ({"behind": "class Own(dict, by=total): pass\nSIZE = accuracy(3)"}, True),
        ({"behind": "@total\ndef other(): pass\nSIZE = accuracy(3)"}, True),
        ({"behind": "def other(x=total([], None)): pass\nSIZE = accuracy(3)"}, True),
        ({"behind": "if torch.cuda.is_available():\n    SIZE = accuracy(3)"}, True),
        ({"behind": "def other():\n    SIZE = accuracy(3)"}, True),
    ],
)
def test_a_file_that_stops_before_anything_runs_it(where, expected):
    assert by_default(text(**where)) == [expected]


def test_what_a_file_runs_at_its_top_before_it_stops():
    program = "from accelerate import Accelerator\naccelerator = Accelerator()\n{}accelerator.gather(rows.item())\n{}"
    lines = "rows = 3\n", "accuracy(3)\n"
    assert by_default(program.format(*lines)) == [True]
    assert by_default(program.format("".join(lines), "")) == [False]


def test_a_loop_that_a_place_is_in_and_one_around_the_function():
    within = "for row in rows:\n        {}\n        accelerator.gather(row.sum().item())\n        {}"
    assert by_default(text(within.format("accuracy(row)", "pass"))) == [False, True]
    assert by_default(text(within.format("pass", "accuracy(row)"))) == [True, True]


def test_a_notebook_goes_on_after_an_error():
    cells = (
        "accuracy(3)",
        text(),
        "from accelerate import notebook_launcher\nnotebook_launcher(total, (3, 4), num_processes=2)",
    )
    assert by_default("\n".join(cells)) == [False]
    assert by_default(notebook(*cells), "train.ipynb") == [True]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("import train\ntrain.accuracy = 3\n", True),
        ("import train\nsetattr(train, 'accuracy', 3)\n", True),
        ("exec(open('train.py').read(), {'accuracy': 3})\n", True),
        ("names = dict(a=3)\nexec(open('train.py').read(), names)\n", True),
        ("import train\nprint(train.accuracy == 3)\n", False),
    ],
)
def test_a_name_that_another_file_gives(tmp_path, other, expected):
    program = text(READ).encode()
    (tmp_path / "train.py").write_bytes(program)
    (tmp_path / "other.py").write_text(f"{other}from transformers import Trainer\n", encoding="utf-8")
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL001"),))
    linter.prepare((path, path.read_bytes()) for path in sorted(tmp_path.glob("*.py")))
    assert [each.by_default for each in linter.check(tmp_path / "train.py", program)] == [expected]
