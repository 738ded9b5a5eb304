"""What is logged in a loop over an entry that nothing fills is not reported by default."""

from __future__ import annotations

import pytest
from small_projects import found, written

NET = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        boards = {made}
        {filled}
        return x.mean(), boards
"""
TRAIN = """\
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter

from net import Net
{imported}

def main(data):
    dist.init_process_group("nccl")
    model = torch.nn.parallel.DistributedDataParallel(Net().cuda())
    writer = SummaryWriter() if dist.get_rank() == 0 else None
    for step, x in enumerate(DataLoader(data, sampler=DistributedSampler(data))):
        loss, boards = model(x.cuda())
        loss.backward()
        if dist.get_rank() == 0:
            for key in boards["scalar"]{view}:
                writer.add_scalar(key, boards["scalar"][key].item(), step)
            writer.add_scalar("norm", x.norm().item(), step)
"""
EMPTY = '{"image": {}, "scalar": {}}'
OTHERS = [("train.py", 19, "TRL003")]
ALL = [("train.py", 18, "TRL003"), *OTHERS]


def findings(tmp_path, made=EMPTY, filled="pass", view="", imported="", **files: str):
    texts = {"net.py": NET.format(made=made, filled=filled), "train.py": TRAIN.format(view=view, imported=imported)}
    return found(written(tmp_path, texts | {f"{name}.py": text for name, text in files.items()}))


@pytest.mark.parametrize("view", ["", ".keys()"])
@pytest.mark.parametrize("made", [EMPTY, '{"scalar": dict()}', "{'scalar': {} , 'rest': 1}"])
def test_nothing_fills_it(view, made, tmp_path):
    assert findings(tmp_path, view=view, made=made) == OTHERS


@pytest.mark.parametrize(
    "change",
    [
        {"made": '{"scalar": {"mean": x.mean()}}'},
        {"made": "dict(scalar={})"},
        {"filled": 'boards["scalar"]["mean"] = x.mean()'},
        {"filled": 'boards["scalar"].update(mean=x.mean())'},
        {"filled": 'boards["scalar"] = self.means(x)'},
        {"filled": 'means = boards["scalar"]'},
        {"filled": 'boards.get("scalar")["mean"] = x.mean()'},
        {"filled": "boards[self.kind]['mean'] = x.mean()"},
        {"filled": "for part in boards.values(): part['mean'] = x.mean()"},
        {"imported": "import helper\n", "helper": "def fill(x, boards):\n    boards['scalar']['mean'] = x\n"},
    ],
)
def test_something_may_fill_it(change, tmp_path):
    line = change.get("imported", "").count("\n")
    assert findings(tmp_path, **change) == [(path, number + line, code) for path, number, code in ALL]
