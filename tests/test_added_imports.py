"""Where a fix adds an import: in isort's order, and after what a script sets up for its imports."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from textwrap import dedent

import pytest

sys.path.insert(0, str(Path(__file__).parent / "rules"))
from snippets import SETTINGS, Snippets

from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule

# A number that becomes a tensor needs torch; a dataset that all ranks compute needs `PartialState`.
NUMBER = """

def count(loader):
    accelerator = Accelerator()
    for batch in accelerator.prepare(loader):
        accelerator.gather(len(batch["attention_mask"]))
"""
DATASET = """

class MyTrainer(Trainer):
    def __init__(self, model, args, train_dataset: Dataset):
        train_dataset = train_dataset.map(tokenize)
        super().__init__(model, args, train_dataset=train_dataset)
"""


def mended(code: str, head: str, body: str) -> str:
    """The head of a file whose body is fixed."""
    text = dedent(head).strip("\n") + "\n" + body
    new = Snippets(code).mended(text, unsafe=True)
    ast.parse(new)
    marker = body.strip("\n").splitlines()[0]
    assert new.count(marker) == 1
    assert Snippets(code).mended(new, unsafe=True) == new
    return new.partition(marker)[0].strip("\n")


def torch_in(head: str) -> str:
    return mended("TRL001", head, NUMBER)


def state_in(head: str) -> str:
    return mended("TRL012", head, DATASET)


# --- code that a script runs before its imports ---------------------------------------------------------


@pytest.mark.parametrize(
    "set_up",
    [
        'os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"',
        'os.environ.setdefault("HF_HOME", "/data")',
        "sys.path.insert(0, os.path.dirname(__file__))",
        "sys.path += ['..']",
        "load_dotenv()",
    ],
)
def test_it_stays_behind_what_is_set_up_for_imports(set_up: str):
    head = f"import os\nimport sys\n\n{set_up}\n\nimport numpy as np  # noqa: E402\n"
    assert torch_in(f"{head}from accelerate import Accelerator  # noqa: E402\n") == (
        f"{head}import torch  # noqa: E402\nfrom accelerate import Accelerator  # noqa: E402"
    )


def test_it_goes_to_the_last_imports_of_its_library():
    head = """
        import torch.nn as nn
        import os

        os.environ["NCCL_DEBUG"] = "INFO"

        from torch.utils.data import DataLoader
        from accelerate import Accelerator
    """
    lines = torch_in(head).splitlines()
    assert lines.index("import torch") > lines.index('os.environ["NCCL_DEBUG"] = "INFO"')


def test_without_an_import_behind_what_is_set_up_there_is_none():
    text = (
        'import os\n\nos.environ["CUDA_VISIBLE_DEVICES"] = "0"\n\n\n'
        "def count(loader):\n    from accelerate import Accelerator\n\n    accelerator = Accelerator()\n"
        '    for batch in accelerator.prepare(loader):\n        accelerator.gather(len(batch["ids"]))\n'
    )
    finding = Snippets("TRL001").finding(text)
    assert finding.fix.reason == "there is no place for an import after what the file sets up for its imports"
    assert Snippets("TRL001").mended(text, unsafe=True) == text
    reads = text.replace('os.environ["CUDA_VISIBLE_DEVICES"] = "0"', 'LIMIT = os.environ["LIMIT"]')
    assert "import torch" in Snippets("TRL001").mended(reads, unsafe=True)


# --- sections and order ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (
            '"""Doc."""\nfrom __future__ import annotations\n\nimport os\n\nfrom accelerate import Accelerator\n',
            '"""Doc."""\nfrom __future__ import annotations\n\nimport os\n\nimport torch\n'
            "from accelerate import Accelerator",
        ),
        (
            "import numpy as np\nimport wandb\nfrom accelerate import Accelerator\n",
            "import numpy as np\nimport torch\nimport wandb\nfrom accelerate import Accelerator",
        ),
        (
            "from accelerate import Accelerator\nimport numpy as np\nimport wandb\n",
            "from accelerate import Accelerator\nimport numpy as np\nimport torch\nimport wandb",
        ),
        (
            "import wandb\nfrom accelerate import Accelerator\nimport numpy as np\n\nLIMIT = 3\n",
            "import wandb\nfrom accelerate import Accelerator\nimport numpy as np\nimport torch\n\nLIMIT = 3",
        ),
        (
            "import numpy as np\nfrom accelerate import Accelerator\nfrom wandb import log\n\n"
            "from aproject import rows\n",
            "import numpy as np\nimport torch\nfrom accelerate import Accelerator\nfrom wandb import log\n\n"
            "from aproject import rows",
        ),
        (
            "from accelerate import Accelerator\nfrom .data import rows\n",
            "import torch\nfrom accelerate import Accelerator\nfrom .data import rows",
        ),
        (
            "# isort: off\nimport wandb\nfrom accelerate import Accelerator\n# isort: on\n",
            "# isort: off\nimport wandb\nfrom accelerate import Accelerator\nimport torch\n# isort: on",
        ),
        (
            "from unsloth import FastLanguageModel\nfrom accelerate import Accelerator\n",
            "from unsloth import FastLanguageModel\nfrom accelerate import Accelerator\nimport torch",
        ),
        (
            "import os\n\n# Why.\nfrom accelerate import Accelerator  # the loop's\n",
            "import os\n\nimport torch\n# Why.\nfrom accelerate import Accelerator  # the loop's",
        ),
        (
            "from typing import TYPE_CHECKING\n\nfrom accelerate import Accelerator\n\n"
            "if TYPE_CHECKING:\n    import torch\n",
            "from typing import TYPE_CHECKING\n\nimport torch\nfrom accelerate import Accelerator\n\n"
            "if TYPE_CHECKING:\n    import torch",
        ),
        (
            "import torch as th\nfrom accelerate import Accelerator\n",
            "import torch as th\nimport torch\nfrom accelerate import Accelerator",
        ),
        (
            "import torch.nn\nfrom accelerate import Accelerator\n",
            "import torch.nn\nfrom accelerate import Accelerator",
        ),
    ],
)
def test_the_order_is_isort_s(head: str, expected: str):
    assert torch_in(head) == expected


def test_what_is_imported_further_down_is_not_there_yet():
    head = "import numpy as np\nfrom accelerate import Accelerator\n"
    late = "\n\nif __name__ == '__main__':\n    count(loader)\n\nimport torch  # noqa: E402\n"
    new = Snippets("TRL001").mended(head + NUMBER + late)
    assert new.startswith("import numpy as np\nimport torch\nfrom accelerate import Accelerator\n")


def test_files_beside_it_are_local(tmp_path):
    for name in ("helpers", "wand"):
        (tmp_path / f"{name}.py").touch()
    text = "import os\n\nfrom accelerate import Accelerator\n\nfrom helpers import rows\nfrom wand import more\n"
    linter = Linter(SETTINGS, (tmp_path,), (find_rule("TRL001"),))
    fixed = linter.fix(tmp_path / "train.py", (text + NUMBER).encode()).source.decode()
    assert fixed.startswith(text.replace("from accelerate", "import torch\nfrom accelerate"))


@pytest.mark.parametrize(
    "head",
    [
        "from accelerate import Accelerator\ntorch = None\n",
        "from accelerate import Accelerator\ntry:\n    import torch\nexcept ImportError:\n    torch = None\n",
        "from accelerate import Accelerator\nfrom mine import torch\n",
        "from accelerate import Accelerator\nimport mine as torch\n",
    ],
)
def test_a_name_that_may_mean_something_else_is_left_alone(head: str):
    text = head + NUMBER
    assert Snippets("TRL001").finding(text).fix.reason == "`torch` may mean something else here"
    assert Snippets("TRL001").mended(text, unsafe=True) == text


# --- a name of a module ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (
            "from accelerate import Accelerator\nfrom datasets import Dataset\nfrom transformers import Trainer\n",
            "from accelerate import Accelerator, PartialState\nfrom datasets import Dataset\n"
            "from transformers import Trainer",
        ),
        (
            "from accelerate import Accelerator, logging\nfrom datasets import Dataset\n"
            "from transformers import Trainer\n",
            "from accelerate import Accelerator, PartialState, logging\nfrom datasets import Dataset\n"
            "from transformers import Trainer",
        ),
        (
            "from accelerate import (\n    Accelerator,\n    logging,\n)\nfrom datasets import Dataset\n"
            "from transformers import Trainer\n",
            "from accelerate import (\n    Accelerator,\n    PartialState,\n    logging,\n)\n"
            "from datasets import Dataset\nfrom transformers import Trainer",
        ),
        (
            "from accelerate import Accelerator  # the loop\nfrom datasets import Dataset\n"
            "from transformers import Trainer\n",
            "from accelerate import Accelerator, PartialState  # the loop\nfrom datasets import Dataset\n"
            "from transformers import Trainer",
        ),
        (
            "import numpy as np\nfrom datasets import Dataset\nfrom transformers import Trainer\n",
            "import numpy as np\nfrom accelerate import PartialState\nfrom datasets import Dataset\n"
            "from transformers import Trainer",
        ),
        (
            'import os\n\nos.environ["WANDB_PROJECT"] = "x"\n\nfrom datasets import Dataset\n'
            "from transformers import Trainer\n",
            'import os\n\nos.environ["WANDB_PROJECT"] = "x"\n\nfrom accelerate import PartialState\n'
            "from datasets import Dataset\nfrom transformers import Trainer",
        ),
    ],
)
def test_a_name_joins_the_import_of_its_module(head: str, expected: str):
    assert state_in(head) == expected


@pytest.mark.parametrize(
    ("there", "call"),
    [
        ("from accelerate import PartialState", "PartialState()"),
        ("from accelerate import PartialState as State", "State()"),
        ("import accelerate", "accelerate.PartialState()"),
    ],
)
def test_what_is_imported_already_is_used(there: str, call: str):
    text = f"{there}\nfrom datasets import Dataset\nfrom transformers import Trainer\n{DATASET}"
    new = Snippets("TRL012").mended(text, unsafe=True)
    assert f"with {call}.main_process_first():" in new
    assert new.startswith(f"{there}\nfrom datasets import Dataset\n")


def test_accelerate_does_not_come_into_a_script_of_plain_torch():
    text = (
        "import torch.distributed as dist\nfrom datasets import load_dataset\n\n"
        'dist.init_process_group("nccl")\ndataset = load_dataset("a/b")\ndataset = dataset.map(tokenize)\n'
    )
    assert Snippets("TRL012").finding(text).fix.reason == "the file does not use Accelerate"
    assert Snippets("TRL012").mended(text, unsafe=True) == text


def test_an_unsorted_group_of_libraries_is_preferred_to_a_group_of_other_packages():
    head = """
    import os

    from transformers import Trainer
    from datasets import Dataset

    from prompts.prompts import tokenize
    from metrics.utils import measured
    """
    last = "from datasets import Dataset\n"
    new = f"{last}from accelerate import PartialState\n"
    assert state_in(head) == dedent(head).strip("\n").replace(last, new)


def test_in_an_unsorted_file_it_goes_to_the_libraries_that_import_it_too():
    head = """
    import wandb
    from transformers import Trainer
    from datasets import Dataset
    import re
    from .utils import tokenize
    from panza import limited
    """
    last = "from datasets import Dataset\n"
    assert state_in(head) == dedent(head).strip("\n").replace(last, f"{last}from accelerate import PartialState\n")


def test_it_goes_to_the_imports_of_its_form():
    head = """
    import torch

    from datasets import Dataset
    from transformers import Trainer
    """
    new = "from accelerate import PartialState\nfrom datasets"
    assert state_in(head) == dedent(head).strip("\n").replace("from datasets", new)
    apart = head.replace("\n\n    from datasets", "\n    import re\n    from datasets")
    assert state_in(apart) == dedent(apart).strip("\n").replace("from datasets", new)
    torch_first = "from accelerate import Accelerator\nfrom datasets import Dataset\n"
    assert (
        torch_in(f"import numpy as np\n\n{torch_first}") == f"import numpy as np\nimport torch\n\n{torch_first}".strip()
    )
