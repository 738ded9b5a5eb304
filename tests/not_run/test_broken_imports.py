"""Findings in a file that can't be imported at its location are not in the default set: none of it runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_projects import NOWHERE

from trl_lint import api
from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

TRAINER = """\
from transformers import Trainer
{imports}

class OwnTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        loss = model(**inputs).loss
        self.log({{"own": loss.item()}})
        return loss
"""


@pytest.mark.parametrize(
    ("imports", "beside", "by_default"),
    [
        ("from ..data_utils import pad", None, False),
        ("from .extras.profiling import timed", None, False),
        ("from .utils import (\n    pad,\n)", None, False),
        ("from .utils import pad", "pkg/own/utils.py", True),
        ("from .utils import pad", "pkg/own/utils/__init__.py", True),
        ("from .utils import pad", "pkg/own/utils/of_a_namespace.py", True),
        ("from .utils import pad", "pkg/own/utils.cpython-311-x86_64-linux-gnu.so", True),
        ("from ..data_utils import pad", "pkg/data_utils.py", True),
        ("from ..data_utils import pad", "pkg/own/data_utils.py", False),
        ("from . import utils", None, True),
        ("from ._version import __version__", None, True),
        ("from utils import pad", None, True),
        ("try:\n    from .fast import pad\nexcept ImportError:\n    pad = None", None, True),
        ("USE = True\nif USE:\n    from .fast import pad", None, True),
    ],
)
def test_a_file_without_what_it_imports_is_asked_for(
    imports: str, beside: str | None, by_default: bool, tmp_path: Path
) -> None:
    path = tmp_path / "pkg" / "own" / "trainer.py"
    path.parent.mkdir(parents=True)
    path.write_text(TRAINER.format(imports=imports), encoding="utf-8")
    if beside:
        (tmp_path / beside).parent.mkdir(exist_ok=True)
        (tmp_path / beside).write_text("def pad(): pass\n", encoding="utf-8")
    (finding,) = api.check(path, Settings(root=tmp_path, select=("ALL",)))
    assert finding.by_default is by_default


@pytest.mark.parametrize(
    ("imports", "files", "by_default"),
    [
        ("from pkg.train.old import pad", ("pkg/__init__.py", "pkg/train/new.py"), False),
        ("from pkg.old import pad", ("pkg/__init__.py",), False),
        ("from pkg.train.old import pad", ("pkg/__init__.py", "pkg/train/old.py"), True),
        ("from pkg.train.old import other", ("pkg/__init__.py", "pkg/train/old.py"), False),
        ("from pkg.train.old import pad", ("pkg/__init__.py", "pkg/train/old/of_a_namespace.py"), True),
        ("from pkg.train._version import pad", ("pkg/__init__.py",), True),
        ("from pkg.train.old import pad", ("src/pkg/__init__.py", "src/pkg/train/old.py"), True),
        ("from pkg.train.old import pad", ("pkg/train/new.py",), True),
        ("import pkg.train.old as old", ("pkg/__init__.py", "pkg/train/new.py"), False),
        ("import json, pkg.train.old", ("pkg/__init__.py", "pkg/train/old.py"), True),
        ("import pkg.old as old", ("pkg/new.py",), True),
        ("import pkg.new as new\nimport pkg.old as old", ("pkg/new.py",), False),
        ("import pkg.new as new\nfrom pkg.old import pad", ("pkg/new.py",), False),
        ("import pkg.new as new\nimport pkg.old as old", ("pkg/new.py", "pkg/old.py"), True),
        ("import sys\nsys.path.append('src')\nimport pkg.new\nimport pkg.old", ("pkg/new.py",), True),
        ("import pkg\nimport pkg.new as new\nimport pkg.old as old", ("pkg/new.py",), True),
        ("from pkg import pad\nimport pkg.new as new\nimport pkg.old as old", ("pkg/new.py",), True),
        ("from pkg import new\nimport pkg.new\nimport pkg.old as old", ("pkg/new.py",), False),
        ("import pkg.new\nimport pkg.old", ("__init__.py", "pkg/new.py"), True),
        ("import pkg.other as other\nimport pkg.old as old", ("pkg/new.py",), True),
        ("import torch.train.old", (), True),
        ("from pkg.train.old import pad", (), True),
        ("from torch.train.old import pad", (), True),
        ("from old import pad", (), True),
        ("from old import other", ("old.py",), False),
        ("from old import other", ("scripts/old.py",), False),
        ("from old import pad", ("scripts/old.py",), True),
        ("from old import pad", ("old/__init__.py", "old/pad.py"), True),
        ("from old import other", ("old/__init__.py", "old/pad.py"), False),
        ("from old import other", ("src/old.py",), True),
        ("import sys\nsys.path.append('src')\nfrom old import other", ("old.py",), True),
        ("import sys\nsys.path.append('src')\nfrom old import other", ("scripts/old.py",), False),
        ("import sys\nsys.path.insert(0, 'src')\nfrom old import other", ("scripts/old.py",), True),
    ],
)
def test_a_program_that_imports_what_is_not_in_the_projects_package(
    imports: str, files: tuple[str, ...], by_default: bool, tmp_path: Path
) -> None:
    program = tmp_path / "scripts" / "train.py"
    for path in (program, *(tmp_path / each for each in files)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("def pad(): pass\n" if path.stem != "__init__" else "", encoding="utf-8")
    program.write_text(TRAINER.format(imports=imports), encoding="utf-8")
    (finding,) = api.check(program, Settings(root=tmp_path, select=("ALL",)))
    assert finding.by_default is by_default


@pytest.mark.parametrize(
    ("beside", "text", "by_default"),
    [
        ("losses.py", "def sft(): pass\n", False),
        ("losses.py", "from trl.losses import sft as dpo_of_trl\n", False),
        ("losses.py", "class Losses:\n    sft = 3\n\nlosses.dpo(3)\n", False),
        ("losses.py", "def dpo(): pass\n", True),
        ("losses.py", "from trl.losses import dpo\n", True),
        ("losses.py", "try:\n    import dpo\nexcept ImportError:\n    dpo = None\n", True),
        ("losses.py", "from trl.losses import *\n", True),
        ("losses.py", "from .missing import *\n", True),
        ("losses.py", "globals()['d' + 'po'] = 3\n", True),
        ("losses.py", "def __getattr__(name): return 3\n", True),
        ("losses.py", "this is no Python\n", True),
        ("losses/__init__.py", "", False),
        ("losses/__init__.py", "from ._losses import dpo\n", True),
        ("losses/dpo.py", "", True),
        ("losses/dpo/other.py", "", True),
    ],
)
def test_a_file_that_imports_a_name_that_nothing_binds(
    beside: str, text: str, by_default: bool, tmp_path: Path
) -> None:
    path = tmp_path / "own" / "trainer.py"
    for each, content in {path: TRAINER.format(imports="from .losses import dpo"), path.parent / beside: text}.items():
        each.parent.mkdir(exist_ok=True, parents=True)
        each.write_text(content, encoding="utf-8")
    (finding,) = Linter(Settings(), (tmp_path,), (find_rule("TRL003"),)).check(path, path.read_bytes())
    assert finding.by_default is by_default


def test_a_text_that_is_no_file_yet_may_be_put_anywhere() -> None:
    text = TRAINER.format(imports="from .utils import pad").encode()
    (finding,) = Linter(Settings(), (NOWHERE,), (find_rule("TRL003"),)).check(NOWHERE / "new.py", text)
    assert finding.by_default


@pytest.mark.parametrize(
    ("star", "by_default"),
    [
        ("from .sft import *", False),
        ("from own.sft import *", False),
        ("from .dpo import *", True),
        ("from .sft import *\nfrom .dpo import *", True),
        ("from .missing import *", True),
        ("from trl import *", True),
        ("from . import *", False),
    ],
)
def test_all_names_of_the_projects_modules_are_known(star: str, by_default: bool, tmp_path: Path) -> None:
    files = {
        "own/__init__.py": f"{star}\n",
        "own/sft.py": "def sft(): pass\n",
        "own/dpo.py": "from .sft import *\n\ndef dpo_loss(): pass\n",
        "train.py": TRAINER.format(imports="from own import dpo_loss"),
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (finding,) = api.check(tmp_path / "train.py", Settings(root=tmp_path, select=("ALL",)))
    assert finding.by_default is by_default


@pytest.mark.parametrize("name", ["mylib.losses", "mylib.missing"])
def test_a_package_in_a_folder_of_another_name_may_be_installed(name: str, tmp_path: Path) -> None:
    files = {
        "mylib-main/__init__.py": "",
        "mylib-main/losses.py": "def dpo(): pass\n",
        "mylib-main/trainer.py": TRAINER.format(imports=f"from {name} import dpo"),
    }
    for each, text in files.items():
        (tmp_path / each).parent.mkdir(exist_ok=True)
        (tmp_path / each).write_text(text, encoding="utf-8")
    (finding,) = api.check(tmp_path / "mylib-main", Settings(root=tmp_path / "mylib-main", select=("ALL",)))
    assert finding.by_default


@pytest.mark.parametrize(
    ("imports", "files", "by_default"),
    [
        ("from utils.utils import pad", (), False),
        ("import utils.fast.pads as pads", ("other/pads.py",), False),
        ("from utils.utils import pad", ("other/fast/utils.py", "other/utils.py", "xutils/utils.py"), False),
        ("from utils.utils import pad", ("other/utils/utils.py",), True),  # with that folder on the search path
        ("from utils.utils import pad", ("other/utils/utils/__init__.py",), True),
        ("from utils.utils import pad", ("utils/of_a_namespace.py",), True),
        ("from utils.utils import pad", (".gitmodules",), True),
        ("from utils.utils import pad", ("tools/run.py", "tools/utils/utils.pyx"), True),  # compiled
        ("from utils.utils import pad", ("tools/run.py", "tools/utils/pads.pyx"), False),
        ("import search\nfrom utils.utils import pad", ("codec/search.py",), False),
        ("import sys\nsys.path.append(there)\nfrom utils.utils import pad", (), True),
        ("try:\n    from utils.utils import pad\nexcept ImportError:\n    pad = None", (), True),
        ("import utils", (), True),
        ("from distributed.utils import pad", (), True),
    ],
)
def test_a_folder_of_a_code_base_from_which_a_file_was_copied(
    imports: str, files: tuple[str, ...], by_default: bool, tmp_path: Path
) -> None:
    program = tmp_path / "codec" / "train.py"
    for path in (program, *(tmp_path / each for each in files)):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("def pad(): pass\n", encoding="utf-8")
    program.write_text(TRAINER.format(imports=imports), encoding="utf-8")
    (finding,) = (
        each for each in api.check(tmp_path, Settings(root=tmp_path, select=("ALL",))) if each.code == "TRL003"
    )
    assert finding.by_default is by_default


@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        ({"codec/search.py": "def add(): pass\n"}, False),
        ({"codec/search.py": "import sys\n\nsys.path.append(there)\n"}, True),
        ({"codec/pyproject.toml": ""}, False),
        ({"codec/pyproject.toml": "", ".gitmodules": ""}, True),
        ({"utils/utils.py": "def pad(): pass\n"}, True),  # around the linted folder
    ],
)
def test_a_missing_folder_may_lie_where_nothing_was_read(files: dict[str, str], by_default: bool, tmp_path: Path):
    program = TRAINER.format(imports="import search\nfrom utils.utils import pad")
    for name, text in {"codec/train.py": program, **files}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (finding,) = api.check(tmp_path / "codec", Settings(root=tmp_path / "codec", select=("TRL003",)))
    assert finding.by_default is by_default
