"""Findings in definitions that a program never uses are not in the default set: none of it runs."""

from __future__ import annotations

import pytest
from small_projects import NOWHERE

from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

CALLBACK = """
import json
from transformers import Trainer, TrainerCallback

class Saver(TrainerCallback):
    def on_train_end(self, args, state, control, **kwargs):
        with open("x.json", "w") as file:
            json.dump({{}}, file)

def main():
    trainer = Trainer()
    {use}
    trainer.train()
"""
FUNCTION = """
from accelerate import Accelerator
accelerator = Accelerator()

{decorator}
def total(loss):
    return accelerator.gather(loss.item())

{use}
"""
HANDED_ON = "from .callbacks import Saver\n\n__all__ = ['Saver']\n"
START = 'if __name__ == "__main__":\n    main()\n'
OTHER_START = "if __name__ == '__main__':\n    pass\n"


def by_default(text: str, code: str) -> list[bool]:
    found = Linter(Settings(), (NOWHERE,), (find_rule(code),)).check(NOWHERE / "train.py", text.encode())
    return [each.by_default for each in found]


@pytest.mark.parametrize(
    ("use", "start", "expected"),
    [
        ("pass", START, False),
        ("# trainer.add_callback(Saver())", START, False),
        ("trainer.add_callback(Saver())", START, True),
        ("trainer.add_callback(globals()['Saver']())", START, True),
        ("pass", "", True),  # a module: its importers may create one
    ],
)
def test_a_class_that_a_program_never_makes(use, start, expected):
    assert by_default(CALLBACK.format(use=use) + start, "TRL008") == [expected]


@pytest.mark.parametrize(
    ("other", "expected"), [("from train import Saver\n", True), ("# As Saver in train.py.\n", False), ("", False)]
)
def test_a_class_that_another_file_makes(tmp_path, other, expected):
    text = (CALLBACK.format(use="pass") + START).encode()
    (tmp_path / "train.py").write_bytes(text)
    (tmp_path / "other.py").write_text(f"{other}from transformers import Trainer\n", encoding="utf-8")
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL008"),))
    linter.prepare((path, path.read_bytes()) for path in sorted(tmp_path.glob("*.py")))
    assert [each.by_default for each in linter.check(tmp_path / "train.py", text)] == [expected]


@pytest.mark.parametrize(
    ("use", "start", "expected"),
    [
        ("from callbacks import Saver\n", START, False),
        ("from callbacks import (\n    Saver,\n)\n# Saver()\n", START, False),
        ("from callbacks import Saver\nmade = Saver()\n", START, True),
        ("from callbacks import Saver as Keeper\nmade = Keeper()\n", START, True),
        ("from callbacks import Saver\nmade = globals()[kind]()\n", START, True),
        ("from callbacks import Saver, SaverToo\nmade = SaverToo()\n", START, False),
        ("from callbacks import Saver\n", "", True),  # importers of this module may create one
        ("", START, True),  # a library for others
    ],
)
def test_a_class_in_a_file_of_its_own(tmp_path, use, start, expected):
    text = CALLBACK.format(use="pass").encode()
    (tmp_path / "callbacks.py").write_bytes(text)
    (tmp_path / "train.py").write_text(f"{use}from transformers import Trainer\ndef main(): ...\n{start}")
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL008"),))
    linter.prepare((path, path.read_bytes()) for path in sorted(tmp_path.glob("*.py")))
    assert [each.by_default for each in linter.check(tmp_path / "callbacks.py", text)] == [expected]


@pytest.mark.parametrize(
    ("hands_on", "train", "other", "expected"),
    [
        (HANDED_ON, "from parts import Saver\n", "", False),
        (HANDED_ON, "from parts import Saver\n", "from parts.callbacks import Saver\n", False),
        (HANDED_ON, "from parts import Saver\nmade = Saver()\n", "", True),
        (HANDED_ON, "from parts import Saver\n", "from parts import *\nmade = Saver()\n", True),
        (HANDED_ON, "from parts import Saver\nmade = eval(kind)()\n", "", True),
        (HANDED_ON, "from parts import Saver\n", "import parts\nmade = getattr(parts, kind)()\n", True),
        (HANDED_ON, "from parts import Saver\n", "made = import_module(home)\n", True),
        (HANDED_ON, "import parts\n", "", True),  # for programs elsewhere
        (f"{HANDED_ON}KINDS = [Saver]\n", "from parts import Saver\n", "", True),
        ('PARTS = {"callbacks": ["Saver"]}\n', "from parts import Saver\n", "", True),
    ],
)
def test_a_class_that_a_package_hands_on(tmp_path, hands_on, train, other, expected):
    text = CALLBACK.format(use="pass").encode()
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/callbacks.py").write_bytes(text)
    (tmp_path / "parts/__init__.py").write_text(hands_on)
    (tmp_path / "train.py").write_text(f"{train}from transformers import Trainer\ndef main(): ...\n{START}")
    (tmp_path / "other.py").write_text(f"{other}from transformers import Trainer\n")
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL008"),))
    linter.prepare((path, path.read_bytes()) for path in sorted(tmp_path.rglob("*.py")))
    assert [each.by_default for each in linter.check(tmp_path / "parts/callbacks.py", text)] == [expected]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ("class Saver: ...\nmade = Saver()\n", False),  # a copy, which uses its own
        ("class Saver: ...\nSaver = None\n", False),
        ("def Saver(): ...\n", False),
        ("    def Saver(): ...\n", True),  # not of this file's own names
        ("class Saver: ...\nimport train\nmade = train.Saver()\n", True),
        ("class Saver: ...\nfrom train import Saver\nmade = Saver()\n", True),
        ("class Savers: ...\nmade = Saver()\n", True),
    ],
)
def test_a_file_that_defines_the_name_itself_means_its_own(tmp_path, other, expected):
    text = (CALLBACK.format(use="pass") + START).encode()
    (tmp_path / "train.py").write_bytes(text)
    start = "if True:\n" if other.startswith(" ") else ""
    (tmp_path / "other.py").write_text(f"from transformers import Trainer\n{start}{other}", encoding="utf-8")
    linter = Linter(Settings(), (tmp_path,), (find_rule("TRL008"),))
    linter.prepare((path, path.read_bytes()) for path in sorted(tmp_path.glob("*.py")))
    assert [each.by_default for each in linter.check(tmp_path / "train.py", text)] == [expected]


@pytest.mark.parametrize(
    ("decorator", "use", "expected"),
    [
        ("", OTHER_START, False),
        ("", f"total(3)\n{OTHER_START}", True),
        ("import typer\napp = typer.Typer()\n@app.command()", OTHER_START, True),
        ("", "if __name__ == '__main__':\n    fire.Fire()\n", True),
        ("", "", True),
    ],
)
def test_a_function_that_a_program_never_calls(decorator, use, expected):
    assert by_default(FUNCTION.format(decorator=decorator, use=use), "TRL001") == [expected]
