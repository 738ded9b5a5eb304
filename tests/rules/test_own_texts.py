"""Settings to which a program gives a text that each process has of its own: not those of a program that starts it."""

import pytest
from small_projects import found, written

TRAIN = """\
from store import store

import torch.distributed as dist


def main(args):
    dist.barrier()
    store(vars(args))
"""
STORE = """\
import json


def store(options):
    with open(f"{options['name']}.json", "w") as file:
        json.dump(options, file)
"""
SETS = """\
import time
import uuid
from hashlib import md5

import torch.distributed as dist
{imports}


def run(args):
    dist.init_process_group("nccl")
    now = time.time()
    digest = md5(f"{{now}}".encode()).hexdigest()
    {sets}
    main(args)
"""


@pytest.mark.parametrize(
    ("sets", "is_own"),
    [
        ('args.name = f"{args.name}-{digest}"', True),
        ('args.name += "-" + uuid.uuid4().hex', True),
        ('options["name"] = f"{name}-{uuid.uuid1()}"', True),
        ('args.name = args.name \\\n        + f"-{digest}"', True),
        ('args.name = (args.name  # as given\n        + "-" + uuid.uuid4().hex)', True),
        ('args.name = (args.name\n        + "-")\n    other = uuid.uuid4().hex', False),
        ("args.name = find(digest)", False),
        ('args.name = f"{args.name}-{md5(args.name.encode()).hexdigest()}"', False),
        ('args.title = f"{args.name}-{digest}"', False),
        ('trainer.name = f"{args.name}-{digest}"', False),
    ],
)
def test_a_text_of_its_own_is_known_in_the_files_of_the_program(sets, is_own, tmp_path):
    for imports in ("from train import main", "from elsewhere import main"):
        files = {"train.py": TRAIN, "store.py": STORE, "start.py": SETS.format(imports=imports, sets=sets)}
        is_reported = ("store.py", 5, "TRL008") in found(written(tmp_path, files))
        assert is_reported is not (is_own and "train" in imports)


# Nothing in this file is about several processes, so that it is not linted itself.
CONFIG = """\
import uuid
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class RunConfig:
    root: str
    folder: Path = field(init=False)

    def __post_init__(self):
        self.folder = Path(
            self.root
        ) / {name}
"""
SAVE = """\
import torch
from accelerate import Accelerator
from config import RunConfig


def main(config: RunConfig, model, loader):
    model, loader = Accelerator().prepare(model, loader)
    for batch in loader:
        model(batch).loss.backward()
    torch.save(batch, config.folder / "last.pt")
"""


@pytest.mark.parametrize(("name", "is_own"), [("uuid.uuid4().hex", True), ('"last"', False)])
def test_a_dataclass_completes_itself_with_a_text_of_its_own(name, is_own, tmp_path):
    files = {"config.py": CONFIG.format(name=name), "train.py": SAVE}
    assert found(written(tmp_path, files), "train.py") == [("train.py", 10, "TRL008")] * (not is_own)
