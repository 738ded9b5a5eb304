"""Small programs with missed bugs in models and training loops, each line next to a similar one that is right.

`# expect: TRL0nn` is on a line that is reported; no other line is.
"""

from collections import Counter
from pathlib import Path

import pytest

from test_false_alarms import marks
from trl_lint import api
from trl_lint.settings import Settings

PROGRAMS = sorted((Path(__file__).parent / "missed_models").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_what_is_marked_is_reported_and_nothing_else(program: Path, tmp_path: Path) -> None:
    text = program.read_text()
    (tmp_path / program.name).write_text(text)
    (tmp_path / "pyproject.toml").touch()
    findings = api.check(tmp_path, Settings(root=tmp_path, preview=True))
    assert marks(text)
    places = (each for finding in findings for each in (finding, *finding.also))
    assert Counter((each.start.line, each.code) for each in places) == marks(text)


def test_an_imported_file_of_some_hundred_kilobytes_is_opened(tmp_path: Path) -> None:
    helpers = "def total(value):\n    return value.sum().item()\n"
    (tmp_path / "helpers.py").write_text(helpers + "# as large as some libraries' one file\n" * 6_000)
    main = (
        "from accelerate import Accelerator\nfrom helpers import total\n\naccelerator = Accelerator()\n"
        "accelerator.gather(total(open('x')))\n"
    )
    (tmp_path / "main.py").write_text(main)
    (tmp_path / "pyproject.toml").touch()
    findings = api.check(tmp_path / "main.py", Settings(root=tmp_path))
    assert [finding.code for finding in findings] == ["TRL001"]


def test_an_heir_of_a_base_of_lightning_in_another_file_is_analysed(tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text(
        "import lightning as L\n\nclass BaseLightningData(L.LightningDataModule):\n    pass\n"
    )
    heir = (
        "from pathlib import Path\n\nfrom base import BaseLightningData\n\nclass Data(BaseLightningData):\n"
        "    def setup(self, stage=None):\n        Path('rows.txt').write_text('rows')\n"
    )
    (tmp_path / "data.py").write_text(heir)
    (tmp_path / "pyproject.toml").touch()
    findings = api.check(tmp_path, Settings(root=tmp_path, preview=True))
    assert [(Path(finding.path).name, finding.start.line, finding.code) for finding in findings] == [
        ("data.py", 7, "TRL008")
    ]


def test_a_module_that_another_file_makes_is_made_by_each_process(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import pytorch_lightning as pl\nfrom task import Net, Task\n\nclass Executor:\n"
        "    def __init__(self, args):\n        self.task = Task(Net())\n"
        "        self.trainer = pl.Trainer(devices=args.devices)\n"
    )
    task = (
        "import os\nimport pytorch_lightning as pl\nimport torch\n\nclass Net(torch.nn.Module):\n    pass\n\n"
        "class Task(pl.LightningModule):\n    def __init__(self, net):\n        super().__init__()\n"
        "        self.net = net\n        os.mkdir('out')\n\n    def training_step(self, batch):\n"
        "        return self.net(batch).sum()\n"
    )
    (tmp_path / "task.py").write_text(task)
    (tmp_path / "pyproject.toml").touch()
    findings = api.check(tmp_path, Settings(root=tmp_path, preview=True))
    assert [(finding.start.line, finding.code) for finding in findings] == [(12, "TRL008")]


def test_a_forward_with_a_collective_of_an_imported_module_is_run(tmp_path: Path) -> None:
    (tmp_path / "distrib.py").write_text(
        "import torch.distributed as dist\n\ndef share(tensor):\n    dist.broadcast(tensor, src=0)\n"
    )
    (tmp_path / "book.py").write_text(
        "import torch\nimport distrib\nfrom torch import nn\n\nclass Book(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.register_buffer('rows', torch.zeros(4, 8))\n"
        "    def forward(self, x):\n        if (x.sum(0) == 0).any():\n            distrib.share(self.rows)\n"
        "        return self.rows * x\n"
    )
    (tmp_path / "train.py").write_text(
        "import torch.distributed as dist\nfrom torch.utils.data import DataLoader, DistributedSampler\n"
        "from book import Book\n\ndef main(rows):\n    dist.init_process_group('nccl')\n"
        "    loader = DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False))\n    book = Book().cuda()\n"
        "    for x in loader:\n        book(x.cuda())\n"
    )
    (tmp_path / "pyproject.toml").touch()
    findings = api.check(tmp_path, Settings(root=tmp_path, select=("TRL006",)))
    assert [(Path(finding.path).name, finding.start.line) for finding in findings] == [("book.py", 11)]
