"""Findings in what nothing uses, beside definitions that a program imports by name, are not in the default set."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_trainer import TRAINER

from trl_lint import api
from trl_lint.settings import Settings

BOTH = f"{TRAINER}\n\nclass Saver:\n    pass\n"
START = "if __name__ == '__main__':\n    pass\n"
TRAIN = f"from own import Saver\n\nsaver = Saver()\n{START}"


IN_PACKAGE = {"lib/own.py": BOTH, "lib/__init__.py": "", "train.py": TRAIN.replace("own", "lib.own")}
BUILDS = "import hydra\n\nhydra.utils.instantiate(load())\n"
NAMED = {"own.py": BOTH, "train.py": TRAIN + BUILDS, "saver.yaml": "saver:\n  _target_: own.Saver\n"}
STARRED = {**NAMED, "names.py": "# For hydra.\nfrom own import *\n", "saver.yaml": "saver:\n  _target_: names.Saver\n"}


@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        ({"own.py": BOTH, "train.py": TRAIN}, False),
        (
            {
                "lib/own.py": BOTH,
                "lib/other.py": "from .own import Saver\n",
                "train.py": f"from lib.own import Saver\n{START}",
            },
            False,
        ),
        ({"own.py": BOTH, "train.py": TRAIN, "again.py": "from own import OwnTrainer\n\nOwnTrainer().train()\n"}, True),
        ({"own.py": BOTH, "train.py": TRAIN, "again.py": "import own\n\ngetattr(own, 'OwnTrainer')().train()\n"}, True),
        ({"own.py": BOTH, "train.py": TRAIN, "again.py": "from own import *\n"}, True),
        ({"own.py": BOTH, "train.py": TRAIN, "again.py": "import importlib\n\nimportlib.import_module('own')\n"}, True),
        ({"own.py": BOTH, "train.py": "from own import Saver\n"}, True),  # no program
        ({"own.py": BOTH, "train.py": TRAIN, "train.yaml": "model:\n  target: own.OwnTrainer\n"}, True),
        ({"own.py": f"{BOTH}\nBEST = OwnTrainer\n", "train.py": TRAIN}, True),
        ({"own.py": BOTH.replace("class Own", "@register\nclass Own"), "train.py": TRAIN}, True),
        ({**IN_PACKAGE, "again.py": "import own\n\nown.init()\n"}, False),
        ({**IN_PACKAGE, "again.py": "import lib.own\n\ngetattr(lib.own, kind)()\n"}, True),
        ({**IN_PACKAGE, "again.py": "from lib import own\n\ngetattr(own, kind)()\n"}, True),
        ({**IN_PACKAGE, "lib/again.py": "import own\n\ngetattr(own, kind)()\n"}, True),
        ({**IN_PACKAGE, "again.py": "import own\n\nown.OwnTrainer()\n"}, True),
        (NAMED, False),
        (STARRED, False),
        ({**NAMED, "own.yaml": "own:\n  _target_: own.OwnTrainer\n"}, True),
        ({**STARRED, "own.yaml": "own:\n  _target_: names.OwnTrainer\n"}, True),
        ({**NAMED, "saver.yaml": "saver:\n  _target_: other.Keeper\n"}, True),
        ({**NAMED, "saver.yaml": ""}, True),
        ({**NAMED, "train.py": TRAIN + BUILDS.replace("load()", "{'_target_': f'own.{kind}'}")}, True),
        ({**NAMED, "train.py": TRAIN + BUILDS.replace("instantiate(load", "get_class(load")}, True),
        ({**NAMED, "run.sh": "torchrun train.py saver._target_=own.OwnTrainer\n"}, True),
        ({**NAMED, "run.sh": "torchrun train.py saver._target_=own.$KIND\n"}, True),
        ({**NAMED, "run.sh": "torchrun train.py saver._target_=own.Saver\n"}, False),
        ({**NAMED, "own.json": '{"_target_": "own.OwnTrainer"}\n'}, True),
        ({**NAMED, "own.yaml": "own:\n  _target_: own.${kind}\n"}, True),
        ({**NAMED, "sets.py": "def change(own):\n    own['_target_'] = name(own)\n"}, True),
        ({**NAMED, "sets.py": "def change(own):\n    own._target_ = f'own.{own.kind}'\n"}, True),
        ({**NAMED, "sets.py": "def change(own):\n    own._target_ = 'own.Saver'\n"}, False),
        ({**NAMED, "sets.py": "class Own:\n    _target_: str = KINDS[0]\n"}, True),
        ({**NAMED, "asks.py": "def asks(own):\n    return own['_target_'] == name(own) or own._target_\n"}, False),
        ({**STARRED, "names.py": "from own import *\n\nevery = dir()\n"}, True),
        ({**STARRED, "saver.yaml": "saver:\n  _target_: own.Saver\n"}, True),
        ({**STARRED, "again.py": "import names\n\ngetattr(names, kind)()\n"}, True),
        (
            {"own/more.py": BOTH, "own/__init__.py": "", "train.py": TRAIN.replace("own", "own.more"), "setup.py": ""},
            True,
        ),
    ],
)
def test_what_a_program_does_not_import_is_asked_for(files: dict[str, str], by_default: bool, tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = api.check(tmp_path, Settings(root=tmp_path, select=("ALL",)))
    first = Path(next(iter(files))).name
    assert {each.by_default for each in found if Path(each.path).name == first and each.code == "TRL003"} == {
        by_default
    }
