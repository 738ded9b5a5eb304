"""Findings in a version of a class that nothing imports, next to the one in use, are not in the default set."""

from __future__ import annotations

from pathlib import Path

import pytest
from own_trainer import TRAINER

from trl_lint import api
from trl_lint.settings import Settings

START = "if __name__ == '__main__':\n    pass\n"


@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        ({"own.py": TRAINER, "own_v2.py": TRAINER, "train.py": "from own_v2 import OwnTrainer\n"}, False),
        ({"own.py": TRAINER, "own_v2.py": TRAINER, "train.py": "import own_v2  # was: own\n"}, False),
        ({"own_old.py": TRAINER, "own.py": TRAINER, "train.py": "from own import OwnTrainer\n"}, False),
        ({"own.py": TRAINER, "own_v2.py": TRAINER, "train.py": "import own, own_v2\n"}, True),
        ({"own.py": TRAINER, "own_v2.py": TRAINER}, True),
        ({"own.py": TRAINER, "own_v2.py": TRAINER, "train.py": "from other import OwnTrainer\n"}, True),
        ({"own.py": TRAINER, "new_own.py": TRAINER, "train.py": "from new_own import OwnTrainer\n"}, False),
        ({"own.py": TRAINER, "own_v2.py": TRAINER, "train.yaml": "model:\n  target: own_v2.OwnTrainer\n"}, False),
        ({"own.py": TRAINER, "own_v2.py": TRAINER, "train.yaml": "model:\n  target: other_v2.OwnTrainer\n"}, True),
        (
            {
                "own.py": TRAINER,
                "own_v2.py": TRAINER,
                "train.yaml": "model:\n  _target_: own_v2.OwnTrainer\n  part:\n    class_path: own.OwnTrainer\n",
            },
            True,
        ),
        (
            {
                "own.py": TRAINER,
                "own_v2.py": TRAINER,
                "train.yaml": "model:\n  target: own_v2.OwnTrainer\n",
                "train.py": "TRAINERS = {'old': 'own.OwnTrainer'}\n\n\ndef train(trainer):\n    trainer.train()\n",
            },
            True,
        ),
        # Another training method, in a package that others import.
        ({"own.py": TRAINER, "ppo.py": TRAINER, "train.py": "from ppo import OwnTrainer\n"}, True),
        ({"own.py": TRAINER, "more/own_v2.py": TRAINER, "train.py": "from more.own_v2 import OwnTrainer\n"}, True),
        (
            {
                "own.py": TRAINER,
                "own_v2.py": TRAINER.replace("OwnT", "MyT"),
                "train.py": "from own_v2 import MyTrainer\n",
            },
            True,
        ),
        ({"own.py": TRAINER + START, "own_v2.py": TRAINER, "train.py": "from own_v2 import OwnTrainer\n"}, True),
        # The same text, in a project of its own below the one that uses it.
        ({"new/own.py": TRAINER, "new/setup.py": "", "lib/own.py": TRAINER, "train.py": "import lib.own\n"}, False),
        ({"new/own.py": TRAINER, "new/setup.py": "", "lib/own.py": TRAINER, "train.py": "import new.own\n"}, True),
        ({"new/own.py": f"{TRAINER}#\n", "new/setup.py": "", "lib/own.py": TRAINER, "train.py": "import own\n"}, True),
        # A name that only its folder tells apart.
        ({"new/own.py": TRAINER, "lib/own.py": TRAINER, "train.py": "import lib.own\n"}, False),
        ({"new/own.py": TRAINER, "lib/own.py": TRAINER, "train.py": "import own\n"}, True),
    ],
)
def test_a_version_out_of_use_is_asked_for(files: dict[str, str], by_default: bool, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = api.check(tmp_path, Settings(root=tmp_path, select=("ALL",)))
    first = next(iter(files))
    assert {each.by_default for each in found if each.path.endswith(f"/{first}") and each.code == "TRL003"} == {
        by_default
    }
