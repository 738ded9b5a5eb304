"""TRL021: which loaders give each rank all rows, the message, and the fix."""

from __future__ import annotations

from textwrap import indent

import pytest
from small_projects import found, written
from snippets import Snippets, shown

from trl_lint.findings import Applicability, Consequence

SNIPPETS = Snippets("TRL021")
IMPORTS = """\
import deepspeed
import torch
import torch.distributed as dist
import torchvision
from accelerate import Accelerator
from datasets import load_dataset
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset, IterableDataset, Subset, random_split
from tqdm import tqdm

"""
ROWS = """\
class Rows(Dataset):
    def __init__(self, path, part=0):
        self.rows = open(path).readlines()
        self.part = part

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]

"""
GROUP = 'dist.init_process_group("nccl")\n'
MODEL = "model = DistributedDataParallel(net)\n"
DATA = "rows = Rows(args.path)\n"
LOADER = "loader = DataLoader(rows, batch_size=4, shuffle=True)\n"
STEP = "model(batch).backward()\n"
BATCHES = f"for batch in loader:\n    {STEP}    optimizer.step()\n"
CALL = LOADER.partition(" = ")[2].strip()


def program(*parts: str, rows: str = ROWS) -> str:
    return IMPORTS + rows + "def main(args, net, optimizer, flag, rank):\n" + indent("".join(parts), "    ")


def usual(data: str = DATA, loader: str = LOADER, batches: str = BATCHES, model: str = MODEL, rows: str = ROWS) -> str:
    return program(GROUP, model, data, loader, batches, rows=rows)


def test_a_finding_is_at_the_loader():
    text = usual()
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == CALL
    assert finding.message == (
        "this loader has no sampler, so each rank goes through all rows: an epoch on N GPUs has as many steps as on "
        "one, and trains on each row N times"
    )
    assert [each.text for each in finding.because] == ["all batches of the loader are trained on here"]
    assert "instead of `shuffle`, and call `set_epoch` of that in each epoch" in finding.help
    assert finding.consequence is Consequence.WRONG_TRAINING


@pytest.mark.parametrize("shuffle", ["", ", shuffle=False", ", shuffle=None"])
def test_without_shuffling_all_gpus_do_the_same(shuffle):
    finding = SNIPPETS.finding(usual(loader=LOADER.replace(", shuffle=True", shuffle)))
    assert finding.message.endswith(
        "all rows: all GPUs train on the same batch in each step, and all but one gain nothing"
    )
    assert "pass it `sampler=DistributedSampler(…, shuffle=False)`" in finding.help


@pytest.mark.parametrize(
    "changes",
    [
        {"loader": LOADER.replace("shuffle=True", "shuffle=flag")},
        {"loader": LOADER.replace("shuffle=True", "shuffle=True, sampler=None")},
        {"loader": "options = dict(batch_size=4, num_workers=2)\nloader = DataLoader(rows, **options)\n"},
        {"data": DATA + "rows, held_out = random_split(rows, (90, 10))\n"},
        {"data": DATA + "rows = Subset(rows, range(100))\n"},
        {"data": 'rows = load_dataset(args.name, split="train")\n'},
        {"data": 'rows = torchvision.datasets.CIFAR10("data")\n'},
        {"data": 'rows, test = torchvision.datasets.CIFAR10("data"), torchvision.datasets.CIFAR10("data", False)\n'},
        {"data": DATA.replace("path)", "path, args.part)")},
        {"rows": "import os\n" + ROWS.replace("open(path).readlines()", "os.listdir(path)")},
        {"data": DATA + "if flag:\n    rows = Texts(args.path)\n", "rows": ROWS + ROWS.replace("Rows", "Texts")},
        {"rows": ROWS + "    def begin(self, epoch):\n        self.epoch = epoch\n\n"},
        {"rows": ROWS.replace("self.part", "self.device"), "data": DATA.replace("path)", "path, dist.get_rank())")},
        {"data": DATA + "print(args.gpu_ids[rank], args.CPU_MAP[rank], args.visible_devices[rank])\n"},
        {"model": f"model = net\nif flag:\n    {MODEL}"},
        {"model": "model = FullyShardedDataParallel(net)\n"},
        {
            "model": "model, optimizer, _, _ = deepspeed.initialize(args, net)\n",
            "batches": BATCHES.replace(STEP, "model.backward(model(batch))\n"),
        },
        {"model": "model = Accelerator().prepare(net)\n"},
        {"batches": BATCHES.replace("in loader", "in tqdm(loader)")},
        {"batches": "for epoch in range(9):\n" + indent(BATCHES, "    ")},
    ],
)
def test_loaders_of_all_rows(changes):
    text = usual(**changes)
    assert [each.split("(")[0] for each in SNIPPETS.places(text)] == ["DataLoader"]


@pytest.mark.parametrize(
    "changes",
    [
        {"loader": LOADER.replace("shuffle=True", "sampler=args.sampler")},
        {"loader": LOADER.replace("shuffle=True", "sampler=flag or None")},
        {"loader": LOADER.replace("shuffle=True", "batch_sampler=args.sampler")},
        {"loader": LOADER.replace("shuffle=True", "**args.options")},
        {"loader": LOADER.replace("shuffle=True", "*args.options")},
        {"loader": LOADER + "loader = Accelerator().prepare(loader)\n"},
        {"loader": LOADER + "loader = args.share(loader)\n"},
        {"loader": f"loader = args.loader\nif flag:\n    {LOADER}"},
        {"data": "rows = args.rows\n"},
        {"data": DATA + "if flag:\n    rows = args.rows\n"},
        {
            "data": DATA + "if flag:\n    rows = Texts(args.path)\n",
            "rows": ROWS + ROWS.replace("Rows(Dataset)", "Texts(IterableDataset)"),
        },
        {"data": "rows = make_rows(args)\n"},
        {"data": DATA + "rows = Subset(rows, args.share(range(100), rank))\n"},
        {"data": DATA.replace("path)", "path, dist.get_rank())")},
        {"data": DATA + "mine = rows.rows[dist.get_rank()::dist.get_world_size()]\n"},
        {"data": DATA + "mine = args.parts[rank]\n"},
        {"data": DATA + "mine = args.rows_per_gpu[rank]\n"},
        {"data": DATA + "mine = args.gpu_rows[rank]\n"},
        {"data": DATA + "mine = args.rows_cpu[rank]\n"},
        {"data": DATA + "mine = args.files_by_device[rank]\n"},
        {"data": 'rows = load_dataset(args.name, split="train", streaming=True)\n'},
        {"data": DATA + "torch.manual_seed(args.seed + dist.get_rank())\n"},
        {"data": DATA + "groups = dist.new_group([0, 1])\n"},
        {"rows": ROWS.replace("(Dataset)", "(IterableDataset)")},
        {"rows": ROWS.replace("self.rows[index]", "random.choice(self.rows)")},
        {"rows": ROWS.replace("__getitem__(self, index)", "__iter__(self)")},
        {"rows": ROWS.replace("class Rows(Dataset)", "from elsewhere import Base\nclass Rows(Base)")},
        {"rows": ROWS.replace("return self.rows[index]", "return self.rows[dist.get_rank()]")},
        {"rows": ROWS.replace("open(path).readlines()", "torch.randn(100, 4)")},
        {"rows": ROWS.replace("open(path).readlines()", "[{'x': torch.randn(4)}]")},
        {"rows": ROWS + "    def keep(self, row):\n        self.rows.append(row)\n\n"},
        {"rows": ROWS + "    def replace(self, rows):\n        self.rows = rows\n\n"},
        {"model": "model = net\n"},
        {"model": "model = torch.nn.DataParallel(net)\n"},
        {"batches": BATCHES.replace(STEP, "model(batch)\n")},
        {"batches": BATCHES.replace(STEP, "loss = model(batch)\n    if flag:\n        loss.backward()\n")},
        {
            "batches": BATCHES.replace(STEP, "net(batch).backward()\n"),
            "model": "other = DistributedDataParallel(rank)\n",
        },
        {"batches": f"if dist.get_rank() == 0:\n{indent(BATCHES, '    ')}"},
    ],
)
def test_others(changes):
    assert SNIPPETS.findings(usual(**changes)) == []


def test_a_loader_with_a_sampler_where_there_are_several_processes():
    sampler = "from torch.utils.data import DistributedSampler\nsampler = DistributedSampler(rows) if flag else None\n"
    assert SNIPPETS.findings(usual(loader=sampler + LOADER.replace("shuffle=True", "sampler=sampler"))) == []


@pytest.mark.parametrize(
    ("line", "is_reported"),
    [
        ("from torch.utils.data import DistributedSampler\n", True),
        ("from torch.utils.data.distributed import (\n    DistributedSampler,\n)\n", True),
        ("from torch.utils.data import DistributedSampler\nchoose(DistributedSampler)\n", False),
        ("from data.samplers import DistributedSamplerWrapper\n", False),
        ("from webdataset import DistributedSampler\n", False),
    ],
)
def test_an_import_of_the_sampler_shares_nothing_out(line, is_reported):
    assert len(SNIPPETS.findings(usual(loader=line + LOADER))) == is_reported


SAMPLER = "from torch.utils.data import DistributedSampler\n"
HELD_OUT = "held_out = Rows(args.path)\n"


@pytest.mark.parametrize(
    ("before", "is_reported"),
    [
        # The rows of another loader are dealt, or those of none.
        ("DataLoader(held_out, sampler=DistributedSampler(held_out))\n", True),
        ("order = DistributedSampler(held_out)\nDataLoader(held_out, 4, sampler=order)\n", True),
        ("order = DistributedSampler(rows)\norder.set_epoch(epoch)\n", True),
        ("self.order = DistributedSampler(rows)\nself.order.set_epoch(epoch)\n", True),
        # A sampler that may deal these, or that only some runs have.
        ("order = DistributedSampler(rows)\nshow(order)\n", False),
        ("order = DistributedSampler(rows)\nDataLoader(rows, 4, sampler=order)\n", False),
        ("order = DistributedSampler(held_out)\nDataLoader(rows, 4, sampler=order)\n", False),
        ("DataLoader(held_out, batch_sampler=DistributedSampler(held_out))\n", False),
        ("if args.many:\n    DataLoader(held_out, sampler=DistributedSampler(held_out))\n", False),
        ("self.order = DistributedSampler(rows)\nother.order.begin()\n", False),
        ("DataLoader(held_out, sampler=DistributedSampler(held_out))\nseed(args.seed + rank)\n", False),
    ],
)
def test_samplers_that_do_not_deal_these_rows(before, is_reported):
    assert len(SNIPPETS.findings(usual(loader=SAMPLER + HELD_OUT + before + LOADER))) == is_reported


TRAINS = """\
import torch.distributed as dist
from loops import train
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from data import Rows

def main(args, net, optimizer):
    dist.init_process_group("nccl")
    train(DistributedDataParallel(net), optimizer, DataLoader(Rows(args.path), shuffle=True))

if __name__ == "__main__":
    main(None, None, None)
"""
LOOPS = """\
import torch.distributed as dist

def train(model, optimizer, loader):
    for batch in loader:
        model(batch).backward()
        optimizer.step()
"""
IN_FILE = "from torch.utils.data import Dataset\n\n" + ROWS


@pytest.mark.parametrize(
    ("changes", "is_reported"),
    [
        ({}, True),
        ({"loops.py": LOOPS + "    print(dist.get_rank())\n"}, True),
        ({"loops.py": LOOPS.replace("for batch", "loader.sampler.set_epoch(0)\n    for batch")}, False),
        ({"data.py": IN_FILE.replace("readlines()", "readlines()[dist.get_rank()::2]")}, False),
        ({"data.py": IN_FILE + "\ndef share(rows):\n    return rows[dist.get_rank()::2]\n"}, False),
    ],
)
def test_loops_and_data_in_other_files(changes, is_reported, tmp_path):
    folder = written(tmp_path, {"train.py": TRAINS, "loops.py": LOOPS, "data.py": IN_FILE, **changes})
    assert found(folder, ".") == [("loops.py", 4, "TRL021")] * is_reported


def test_the_fix_passes_a_sampler():
    text = usual()
    assert SNIPPETS.finding(text).fix.applicability is Applicability.UNSAFE
    assert SNIPPETS.mended(text) == text
    mended = usual(loader=LOADER.replace("shuffle=True", "sampler=DistributedSampler(rows)"))
    mended = mended.replace("Dataset, IterableDataset,", "Dataset, DistributedSampler, IterableDataset,")
    assert SNIPPETS.mended(text, unsafe=True) == mended


@pytest.mark.parametrize(
    ("loader", "new"),
    [
        (
            "DataLoader(rows, batch_size=4)",
            "DataLoader(rows, batch_size=4, sampler=DistributedSampler(rows, shuffle=False))",
        ),
        ("DataLoader(rows, shuffle=False)", "DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False))"),
        ("DataLoader(rows, shuffle=flag)", "DataLoader(rows, sampler=DistributedSampler(rows, shuffle=flag))"),
        ("DataLoader(dataset=rows, shuffle=True)", "DataLoader(dataset=rows, sampler=DistributedSampler(rows))"),
    ],
)
def test_the_sampler_shuffles_as_the_loader_did(loader, new):
    text = usual(loader=f"loader = {loader}\n")
    assert new in SNIPPETS.mended(text, unsafe=True)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"loader": LOADER.replace("(rows", "(Rows(args.path)")}, "no name is the data set"),
        ({"loader": "loader = DataLoader(rows, 4, True)\n"}, "`shuffle` is passed by position"),
        ({"loader": LOADER.replace("True", "True, sampler=None")}, "it names `sampler` or `batch_sampler`"),
        ({"loader": "more = {}\nloader = DataLoader(rows, **more)\n"}, "its options are passed as `*` or `**`"),
        ({"model": "model = Accelerator().prepare(net)\n"}, "`prepare` gives a loader its sampler"),
    ],
)
def test_what_is_left_to_the_author(changes, reason):
    finding = SNIPPETS.finding(usual(**changes))
    assert finding.fix.applicability is Applicability.DISPLAY
    assert finding.fix.reason == reason


@pytest.mark.parametrize(
    ("group", "is_certain"),
    [
        (GROUP, True),
        ("start(args)\n", True),
        (f"if flag:\n    {GROUP}", False),
        ("if flag:\n    start(args)\n", False),
        ("begin(args)\n", False),
        ("", False),
    ],
)
def test_the_sampler_needs_a_process_group(group, is_certain):
    functions = f"def start(args):\n    {GROUP}\ndef begin(args):\n    if args.many:\n        {GROUP}\n"
    text = program(group, MODEL, DATA, LOADER, BATCHES).replace("def main", functions + "def main")
    fix = SNIPPETS.finding(text).fix
    assert fix.applicability is (Applicability.UNSAFE if is_certain else Applicability.DISPLAY)
    assert is_certain or fix.reason == "no process group is certain to exist here, which the sampler needs"


OF_TRAINER = """\
from transformers import Trainer

class Mine(Trainer):
    def __init__(self, *args, loader=None, **kwargs):
        super().__init__(*args, **kwargs)
        self.loader = {kept}

    def get_train_dataloader(self):
        return {returned}

"""
MADE = "rows = Rows(args.path)\nMine(net, args, train_dataset=rows, loader={loader}).train()\n"


def of_trainer(returned: str = "self.loader", kept: str = "loader", loader: str = CALL) -> str:
    return program(MADE.format(loader=loader), rows=ROWS + OF_TRAINER.format(returned=returned, kept=kept))


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({}, CALL),
        ({"loader": "DataLoader(rows)"}, "DataLoader(rows)"),
        ({"returned": "DataLoader(Rows('x'))"}, "DataLoader(Rows('x'))"),
        (
            {"returned": "DataLoader(self.train_dataset, shuffle=True)"},
            "DataLoader(self.train_dataset, shuffle=True)",
        ),
    ],
)
def test_a_trainer_prepares_no_loader_of_its_heirs(changes, place):
    finding = SNIPPETS.finding(of_trainer(**changes))
    assert shown(of_trainer(**changes), finding) == place
    assert finding.help.startswith("return `self.accelerator.prepare(…)` of it from `get_train_dataloader`")
    assert finding.fix is None or finding.fix.applicability is Applicability.DISPLAY


@pytest.mark.parametrize(
    "changes",
    [
        {"returned": "super().get_train_dataloader()"},
        {"returned": "self.accelerator.prepare(self.loader)"},
        {"kept": "self.accelerator.prepare(loader)"},
        {"loader": "Accelerator().prepare(DataLoader(rows))"},
        {"loader": "DataLoader(rows, sampler=make(rows))"},
        {"loader": "make(rows)"},
        {"returned": "DataLoader(self.train_dataset)"},  # which may be a stream that divides itself
        {"returned": "DataLoader(self.train_dataset, shuffle=True, sampler=self.order())"},
        {"returned": "DataLoader(self.train_dataset.shard(self.args.world_size, self.args.process_index))"},
    ],
)
def test_loaders_of_trainers_that_are_shared_out_or_may_be(changes):
    assert not SNIPPETS.findings(of_trainer(**changes))


def test_a_trainer_with_a_loop_of_its_own_prepares_what_it_likes():
    text = of_trainer().replace("    def get_train", "    def train(self):\n        fit(self)\n\n    def get_train")
    assert not SNIPPETS.findings(text)


def test_a_trainer_in_another_file(tmp_path):
    files = {"trainers.py": OF_TRAINER.format(returned="self.loader", kept="loader"), "pyproject.toml": ""}
    files["train.py"] = "from trainers import Mine\n" + program(MADE.format(loader=CALL))
    written(tmp_path, files)
    assert [(file, code) for file, _, code in found(tmp_path)] == [("train.py", "TRL021")]
