"""TRL002: a model that another file wraps under a setting, which the code that imports the model asks for."""

import pytest
from small_projects import found, written

COMMON = """\
import argparse

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 4)


parser = argparse.ArgumentParser()
parser.add_argument("--mode")
args = parser.parse_args()
args.n_gpus = torch.cuda.device_count()
args.several = args.n_gpus > 1
model = Net().cuda()
if args.several:
    model = DistributedDataParallel(model)
"""
MAIN = """\
import torch.distributed as dist

from common import {names}

{read}
"""


@pytest.mark.parametrize("names", ["*", "args, model"])
@pytest.mark.parametrize(
    ("read", "is_reported"),
    [
        ("head = model.module.head if args.several else model.head", False),
        ("if args.several:\n    head = model.module.head\nelse:\n    head = model.head", False),
        ("def head():\n    if not args.several:\n        return model.head\n    return model.module.head", False),
        ("if args.several:\n    head = model.head", True),
        ("if not args.mode:\n    head = model.head", True),
        ("if args.several:\n    model.module.eval()\nhead = model.head", True),
    ],
)
def test_the_setting_decides_about_the_wrapper(tmp_path, names, read, is_reported):
    files = {"common.py": COMMON, "main.py": MAIN.format(names=names, read=read)}
    codes = [code for path, _, code in found(written(tmp_path, files)) if path == "main.py"]
    assert codes == ["TRL002"] * is_reported
