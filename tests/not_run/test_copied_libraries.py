"""Findings in a library class copied into a project are not in the default set if no code outside names it."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_trainer import TRAINER

from trl_lint import api
from trl_lint.settings import Settings

INIT = "from .trainer import OwnTrainer\n\n__all__ = ['OwnTrainer']\n"
MORE = "from .trainer import OwnTrainer\nclass More(OwnTrainer): pass\n"
MAKES = "import trl\ndef make(): return trl.trainer.OwnTrainer()\n"
MAIN = "\nif __name__ == '__main__':\n    OwnTrainer().train()\n"
PROGRAM = "from trl import {0}\n\nif __name__ == '__main__':\n    {0}().train()\n"


def is_by_default(folder: Path, files: dict[str, str], where: str = "trl") -> bool:
    """Whether the finding in a package of this name is in the default set, next to these files."""
    own = {f"{where}/trainer.py": TRAINER, f"{where}/__init__.py": INIT}
    for name, text in {**own, "run.py": PROGRAM.format("SFTTrainer"), **files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = api.check(folder, Settings(root=folder, select=("TRL003",)))
    (finding,) = (each for each in found if Path(each.path) == folder / where / "trainer.py")
    return finding.by_default


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, False),
        ({"pyproject.toml": "[project]\nname = 'own'\n"}, False),
        ({"run.py": PROGRAM.format("OwnTrainer")}, True),
        ({"more.py": "from trl.trainer import OwnTrainer\n"}, True),
        ({"more.py": "# as trl's OwnTrainer\nimport trl\n"}, False),
        ({"more.py": "import trl\ngetattr(trl, 'OwnTrainer')\n"}, True),
        # The file that names it is itself named by none, or by one outside.
        ({"trl/more.py": MORE}, False),
        ({"trl/more.py": MORE, "run.py": PROGRAM.format("More")}, True),
        ({"trl/more.py": f"{MORE}class Most(More): pass\n", "run.py": PROGRAM.format("Most")}, True),
        ({"trl/more.py": f"{MORE}KINDS = {{'own': OwnTrainer}}\n"}, True),
        ({"trl/more.py": MAKES}, False),
        ({"trl/more.py": MAKES, "run.py": PROGRAM.format("make")}, True),
        ({"trl/trainer.py": f"{TRAINER}\nclass More(OwnTrainer): pass\n"}, False),
        ({"trl/trainer.py": f"{TRAINER}\nclass More(OwnTrainer): pass\n", "run.py": PROGRAM.format("More")}, True),
        ({"run.py": "from trl import SFTTrainer\n"}, True),  # no program is known
        ({"pyproject.toml": "[project]\nname = 'trl'\n"}, True),
        ({"setup.py": "setup(\n    name='my-trl',\n)\n"}, True),
        ({"setup.cfg": "[metadata]\nname = trl\n"}, True),
        # Another copy has its own classes.
        ({"other/trl/__init__.py": INIT, "other/trl/most.py": f"{MORE}KINDS = {{'own': OwnTrainer}}\n"}, False),
        ({"other/trl_tools/__init__.py": INIT, "other/trl_tools/run.py": PROGRAM.format("OwnTrainer")}, True),
        # A program of the copy itself counts if a command of the project starts it.
        ({"trl/scripts/own.py": PROGRAM.format("OwnTrainer")}, False),
        ({"trl/scripts/own.py": f'"""python trl/scripts/own.py"""\n{PROGRAM.format("OwnTrainer")}'}, False),
        ({"trl/scripts/own.py": PROGRAM.format("OwnTrainer"), "run.sh": "torchrun trl/scripts/own.py\n"}, True),
        ({"trl/scripts/own.py": PROGRAM.format("OwnTrainer"), "run.sh": "torchrun run.py\n"}, False),
        # Another copy means its own.
        ({"old/trl/trainer.py": TRAINER, "old/trl/__init__.py": INIT}, False),
        ({"old/trl/trainer.py": TRAINER, "old/trl/__init__.py": INIT, "run.py": PROGRAM.format("OwnTrainer")}, True),
        ({"old/trl/more.py": MORE, "old/trl/__init__.py": INIT}, False),
        ({"old/trl/more.py": MORE}, True),  # no package
        ({"old/peft/more.py": MORE, "old/peft/__init__.py": ""}, True),  # another library
        ({"trl-0.23.0.dist-info/METADATA": "Name: trl\n"}, True),  # a wheel, which has programs beside its package
        ({"trlx-0.7.0.dist-info/METADATA": "Name: trlx\n"}, False),
    ],
)
def test_a_class_that_only_the_copy_names(files, expected, tmp_path):
    assert is_by_default(tmp_path, files) is expected


@pytest.mark.parametrize(("where", "expected"), [("own/trl", False), ("own/models", True), ("trlx", True)])
def test_where_the_copy_lies(where, expected, tmp_path):
    assert is_by_default(tmp_path, {}, where) is expected


THIRD = "third_party/own"


@pytest.mark.parametrize(
    ("where", "files", "expected"),
    [
        (THIRD, {}, False),
        ("libs/externals/own/nets", {}, False),
        ("third_parties", {}, True),
        (THIRD, {"run.py": "from third_party.own import OwnTrainer\n"}, True),
        (THIRD, {"run.py": PROGRAM.format("SFTTrainer"), "more.py": "from third_party.own import OwnTrainer\n"}, True),
        (THIRD, {"more.py": "class OwnTrainer: pass\nOwnTrainer()\n"}, False),
        (THIRD, {"more.py": "from trainer import OwnTrainer\n"}, True),
        # The project has a package of that name, too, which is no copy; or another copy of it.
        (THIRD, {"own/__init__.py": "", "own/more.py": "from trainer import OwnTrainer\n"}, True),
        (THIRD, {"old/third_party/own/more.py": "from trainer import OwnTrainer\n"}, False),
        # It is a program itself.
        (THIRD, {f"{THIRD}/trainer.py": f"{TRAINER}{MAIN}"}, False),
        (THIRD, {f"{THIRD}/trainer.py": f"{TRAINER}{MAIN}", "run.sh": f"torchrun {THIRD}/trainer.py\n"}, True),
        (THIRD, {f"{THIRD}/trainer.py": f"{TRAINER}{MAIN}", f"{THIRD}/run.sh": "torchrun trainer.py\n"}, False),
        # The project has no program of its own.
        (THIRD, {"run.py": "import os\n"}, True),
    ],
)
def test_folders_of_other_peoples_code(where, files, expected, tmp_path):
    assert is_by_default(tmp_path, files, where) is expected


def test_what_has_no_package_around_it(tmp_path):
    """A folder of scripts with that name."""
    assert is_by_default(tmp_path, {}, "trl/scripts") is True


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, False),
        ({"trl/examples/own.py": PROGRAM.format("OwnTrainer"), "trl/tests/test_own.py": "OwnTrainer\n"}, False),
        ({"trl/trl/scripts/own.py": PROGRAM.format("OwnTrainer")}, False),
        ({"trl/trl/more.py": MORE}, False),
        ({"trl/trl/more.py": MORE, "run.py": PROGRAM.format("More")}, True),
        ({"run.py": PROGRAM.format("OwnTrainer")}, True),
        ({"run.py": "from trl import SFTTrainer\n", "trl/examples/own.py": PROGRAM.format("OwnTrainer")}, False),
        # Two projects next to each other; neither belongs to the other.
        ({"run.py": "", "other/run.py": PROGRAM.format("SFTTrainer")}, True),
    ],
)
def test_a_whole_checkout_of_the_library(files, expected, tmp_path):
    checkout = {"trl/pyproject.toml": "[project]\nname = 'trl'\n"}
    assert is_by_default(tmp_path, checkout | files, "trl/trl") is expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, False),
        ({"trl/README.md": "```\ntorchrun examples/trainer.py\n```\n"}, False),
        ({"run.sh": "torchrun trl/examples/trainer.py\n"}, True),
        ({"run.sh": "cd trl/examples\npython trainer.py\n"}, True),
        ({"trl/examples/more.py": "from trainer import OwnTrainer\n" + MAIN, "run.sh": "torchrun more.py\n"}, True),
        ({"run.sh": "torchrun run.py\n"}, False),
        ({"run.py": "print(3)\n"}, True),  # nothing uses the library
        ({"trl/trl/__init__.py": ""}, False),
        ({"trl/pyproject.toml": "[project]\nname = 'trl-more'\n"}, True),  # a project of its own
        ({"trl/pyproject.toml": "[project]\nname = 'own'\n"}, True),
        ({"run.py": "", "other/run.py": PROGRAM.format("SFTTrainer")}, True),
    ],
)
def test_what_is_beside_the_package_of_a_checkout(files, expected, tmp_path):
    checkout = {"trl/pyproject.toml": "[project]\nname = 'trl'\n", "trl/trl/__init__.py": "", "pyproject.toml": ""}
    assert is_by_default(tmp_path, checkout | files, "trl/examples") is expected


ENTRY = f"{TRAINER}{MAIN}".replace("OwnTrainer", "trainer")
OWN = "import trl\n\n\ndef trainer(): trl.SFTTrainer().train()\n\n\nif __name__ == '__main__':\n    trainer()\n"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        # `main` of `main.py` is a name that any file may have.
        ({}, False),
        ({"more.py": OWN}, False),
        ({"trl/hub.py": "KIND = 'trainer'\n"}, False),
        ({"run.sh": "torchrun trl/trainer.py\n"}, True),
        ({"more.py": "from trl.trainer import trainer\n\ntrainer()\n"}, True),
        ({"more.py": "from trl import trainer\n\ntrainer.trainer()\n"}, True),
        ({"more.py": "import importlib, trl\n\nimportlib.import_module('trl.trainer').trainer()\n"}, True),
        ({"more.py": "import trl, subprocess\n\nsubprocess.run(['torchrun', 'trl/trainer.py'])\n"}, True),
        ({"more.py": "import trl\n\ntrl.trainer.trainer()\n"}, True),
    ],
)
def test_a_program_of_the_copy_that_is_called_like_its_function(files, expected, tmp_path):
    assert is_by_default(tmp_path, {"trl/trainer.py": ENTRY, "trl/__init__.py": "", **files}) is expected
