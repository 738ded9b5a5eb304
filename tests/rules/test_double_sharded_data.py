"""TRL022: which rows are dealt to the ranks twice, the message, and the fix."""

from __future__ import annotations

from textwrap import indent

import pytest
from small_projects import found, written
from snippets import Snippets, shown

from trl_lint.findings import Applicability, Consequence
from trl_lint.settings import Settings

SNIPPETS = Snippets("TRL022")
IMPORTS = """\
from itertools import islice
import torch.distributed as dist
from accelerate import Accelerator
from datasets import load_dataset
from datasets.distributed import split_dataset_by_node
from monai.data import CacheDataset
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset
from torch.utils.data import DistributedSampler, RandomSampler, Sampler, Subset
from transformers import Trainer

"""
START = "accelerator = Accelerator()\nrank, world = dist.get_rank(), dist.get_world_size()\n"
SAMPLER = "sampler = DistributedSampler(rows)\n"
LOADER = "loader = DataLoader(rows, batch_size=4, sampler=sampler)\n"
PREPARE = "model, loader = accelerator.prepare(model, loader)\n"
PREPARE_ROWS = "loader = accelerator.prepare(DataLoader(own))\n"
IMAGES = """\
class Images(Dataset):
    def __init__(self, paths, shard=0, num_shards=1):
        self.paths = paths[shard::num_shards]

    def __len__(self):
        return len(self.paths)

"""
IN_TURN = """\
class InTurn(Sampler):
    def __init__(self, rows):
        self.rows, self.rank, self.size = rows, dist.get_rank(), dist.get_world_size()

    def __iter__(self):
        return iter(range(len(self.rows))[self.rank :: self.size])

"""
BUCKETS = """\
class Buckets(DistributedSampler):
    def __init__(self, rows, num_replicas=None, rank=None):
        super().__init__(rows, num_replicas=num_replicas, rank=rank)

"""


def program(*parts: str, above: str = "") -> str:
    return (
        IMPORTS
        + above
        + "def main(args, rows, model, groups, training_args):\n"
        + indent("".join((START, *parts)), "    ")
    )


def trainer(body: str, above: str = "") -> str:
    return IMPORTS + above + "class MyTrainer(Trainer):\n" + indent(body, "    ")


def test_a_finding_is_at_the_sampler_of_the_loader():
    text = program(SAMPLER, LOADER, PREPARE)
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "sampler"
    assert finding.message == (
        "a sampler gives each rank its share of the rows, and `prepare` deals them to the ranks again: on several GPUs "
        "each rank gets a share of its share, and an epoch leaves out all other rows"
    )
    assert [each.text for each in finding.because] == [
        "the sampler of this loader deals the rows to the ranks",
        "`prepare` deals them again here",
    ]
    assert "make the loader with `shuffle=True` and no sampler, as `prepare` deals its batches" in finding.help
    assert finding.consequence is Consequence.WRONG_TRAINING
    assert finding.by_default


@pytest.mark.parametrize(
    ("made", "place"),
    [
        (LOADER.replace("=sampler", "=DistributedSampler(rows, world, rank)"), "DistributedSampler(rows, world, rank)"),
        (SAMPLER.replace("rows)", "rows) if args.distributed else None") + LOADER, "sampler"),
        (f"sampler = None\nif world > 1:\n    {SAMPLER}" + LOADER, "sampler"),
        (
            SAMPLER + LOADER.replace("sampler=sampler", "batch_sampler=BatchSampler(sampler, 4, True)"),
            "BatchSampler(sampler, 4, True)",
        ),
        (SAMPLER + "loader = DataLoader(rows, 4, False, sampler)\n", "sampler"),
    ],
)
def test_samplers_of_a_prepared_loader(made, place):
    assert SNIPPETS.places(program(made, PREPARE)) == [place]


@pytest.mark.parametrize(
    "prepare",
    [
        "loader = accelerator.prepare_data_loader(loader)\n",
        "if loader is not None:\n    loader = accelerator.prepare(loader)\n",
        "if accelerator.num_processes > 1:\n    loader = accelerator.prepare(loader)\n",
        "loader = Accelerator(split_batches=True).prepare(loader)\n",
        "loader = Accelerator(dispatch_batches=True).prepare(loader)\n",
    ],
)
def test_ways_to_prepare_a_loader(prepare):
    assert SNIPPETS.places(program(SAMPLER, LOADER, prepare)) == ["sampler"]


@pytest.mark.parametrize(("above", "name"), [(IN_TURN, "InTurn"), (BUCKETS, "Buckets")])
def test_samplers_of_the_project(above, name):
    made = LOADER.replace("=sampler", f"={name}(rows)")
    assert SNIPPETS.places(program(made, PREPARE, above=above)) == [f"{name}(rows)"]


@pytest.mark.parametrize(
    ("own", "place"),
    [
        ("own = rows[rank::world]\n", "rows[rank::world]"),
        ("own = list(rows)\nown = own[rank::world]\n", "own[rank::world]"),
        (
            "each = len(rows) // world\nown = rows[rank * each : (rank + 1) * each]\n",
            "rows[rank * each : (rank + 1) * each]",
        ),
        (
            "own = [row for i, row in enumerate(rows) if i % world == rank]\n",
            "[row for i, row in enumerate(rows) if i % world == rank]",
        ),
        ("own = rows.shard(world, rank)\n", "rows.shard(world, rank)"),
        ("own = rows.shard(num_shards=world, index=rank).map(str)\n", "rows.shard(num_shards=world, index=rank)"),
        ("own = split_dataset_by_node(rows, rank, world)\n", "split_dataset_by_node(rows, rank, world)"),
        ("own = split_dataset_by_node(rows, rank, world).take(9)\n", "split_dataset_by_node(rows, rank, world)"),
        (
            "own = Subset(rows, range(rank, len(rows), world))\n",
            "Subset(rows, range(rank, len(rows), world))",
        ),
        (
            "indices = list(range(rank, len(rows), world))\nown = Subset(rows, indices)\n",
            "Subset(rows, indices)",
        ),
        ("if world > 1:\n    rows = rows[rank::world]\nown = rows\n", "rows[rank::world]"),
        ("own = rows\nif args.share:\n    own = rows[rank::world]\n", "rows[rank::world]"),
        ("own = rows[rank::world]\nif args.few:\n    own = rows[:8]\n", "rows[rank::world]"),
        ("if args.few:\n    own = rows[:8]\nelse:\n    own = rows[rank::world]\n", "rows[rank::world]"),
        ("splits = load_dataset('x')\nsplits['a'] = rows[rank::world]\nown = splits['a']\n", "rows[rank::world]"),
        (
            "splits = load_dataset('x')\nfor name in splits:\n    splits[name] = rows.shard(world, rank)\n"
            "splits = splits.map(str)\nown = splits['train']\n",
            "rows.shard(world, rank)",
        ),
        ("own = [read(row) for row in rows[rank::world]]\n", "rows[rank::world]"),
        ("own = CacheDataset(data=rows[rank::world])\n", "rows[rank::world]"),
        ("mine = rows[rank::world]\nown = mine if args.do_train else None\n", "rows[rank::world]"),
    ],
)
@pytest.mark.parametrize(
    "again",
    [PREPARE_ROWS, "sampler = DistributedSampler(own)\n", "Trainer(model, training_args, train_dataset=own).train()\n"],
)
def test_rows_of_a_rank_that_are_dealt_again(own, place, again):
    assert SNIPPETS.places(program(own, again)) == [place]


def test_a_data_set_that_keeps_the_rows_of_its_rank():
    text = program("own = Images(rows, rank, world)\n", PREPARE_ROWS, above=IMAGES)
    assert SNIPPETS.places(text) == ["paths[shard::num_shards]"]
    assert not SNIPPETS.findings(program("own = Images(rows)\n", PREPARE_ROWS, above=IMAGES))


OWN = """\
class Own({base}):
    def __init__(self, rows, rank, size):
        self.rows, self.rank, self.size = rows, rank, size

    def {method}:
        {body}

"""


@pytest.mark.parametrize(
    ("base", "method", "body", "place"),
    [
        ("IterableDataset", "__iter__(self)", "return iter({})", "self.rows[self.rank :: self.size]"),
        ("IterableDataset", "__iter__(self)", "yield from {}", "islice(self.rows, self.rank, None, self.size)"),
        (
            "IterableDataset",
            "__iter__(self)",
            "for i, row in enumerate(self.rows):\n            if {}:\n                yield row",
            "i % self.size == self.rank",
        ),
        ("Dataset", "__getitem__(self, i)", "return self.rows[{}]", "i * self.size + self.rank"),
    ],
)
def test_a_data_set_that_gives_the_rows_of_its_rank(base, method, body, place):
    above = OWN.format(base=base, method=method, body=body.format(place))
    made = "own = Own(rows, rank, world)\n"
    assert SNIPPETS.places(program(made, PREPARE_ROWS, above=above)) == [place]
    assert not SNIPPETS.findings(program(made.replace("world", "groups"), PREPARE_ROWS, above=above))
    assert not SNIPPETS.findings(program(made, "loader = DataLoader(own)\n", above=above))


TOLD = """\
class Own(Dataset):
    def __init__(self, rows):
        self.rows, self.rank, self.size = rows, 0, 1

    def __getitem__(self, i):
        return self.rows[PLACE]

    def tell(self, rank, size):
        self.rank, self.size = rank, size

"""


def test_a_data_set_that_is_told_the_rank():
    place = "7 + i * self.size + self.rank"
    above = TOLD.replace("PLACE", place)
    made = "own = Own(rows)\nown.tell(rank, world)\n"
    assert SNIPPETS.places(program(made, PREPARE_ROWS, above=above)) == [place]
    assert not SNIPPETS.findings(program(made.replace("world", "groups"), PREPARE_ROWS, above=above))
    assert not SNIPPETS.findings(program("own = Own(rows)\n", PREPARE_ROWS, above=above))


@pytest.mark.parametrize(
    ("function", "made", "place"),
    [
        (
            "def own_of(rows):\n    return rows.shard(dist.get_world_size(), dist.get_rank())\n",
            "own = own_of(rows)\n",
            "rows.shard(dist.get_world_size(), dist.get_rank())",
        ),
        (
            "def own_of(rows, few):\n    if few:\n        return rows, 0\n"
            "    return rows.shard(dist.get_world_size(), dist.get_rank()), 1\n",
            "own, count = own_of(rows, args.few)\n",
            "rows.shard(dist.get_world_size(), dist.get_rank())",
        ),
        (
            "def mapped(rows):\n    return rows.map(str)\n",
            "own = mapped(rows=rows.shard(world, rank))\n",
            "rows.shard(world, rank)",
        ),
        (
            "def split(splits):\n    return splits['a'], splits['b']\n",
            "splits = load_dataset('x')\nsplits['b'] = rows.shard(world, rank)\nrest, own = split(splits)\n",
            "rows.shard(world, rank)",
        ),
    ],
)
def test_rows_that_a_function_returns(function, made, place):
    assert SNIPPETS.places(program(made, PREPARE_ROWS, above=function + "\n\n")) == [place]


@pytest.mark.parametrize(
    ("function", "made"),
    [
        ("def mapped(rows):\n    return rows.map(str)\n", "mapped(rows.shard(world, rank))\nown = mapped(rows)\n"),
        (
            "def split(splits):\n    return splits['a'], splits['b']\n",
            "splits = load_dataset('x')\nsplits['b'] = rows.shard(world, rank)\nown, rest = split(splits)\n",
        ),
        (
            "def own_of(rows, share):\n    rank, world = dist.get_rank(), dist.get_world_size()\n"
            "    if share:\n        rows = rows.shard(world, rank)\n    return rows\n",
            "rest = own_of(rows, True)\nown = own_of(rows, False)\n",
        ),
    ],
)
def test_rows_that_a_function_returns_as_they_are(function, made):
    assert not SNIPPETS.findings(program(made, PREPARE_ROWS, above=function + "\n\n"))


def test_the_rest_of_the_rows_in_steps():
    text = program("own = rows[rank:][::world]\n", PREPARE_ROWS)
    assert SNIPPETS.places(text) == ["rows[rank:][::world]"]


def test_rows_of_an_evaluation():
    text = program("own = rows[rank::world]\n", "Trainer(model, training_args, eval_dataset=own)\n")
    finding = SNIPPETS.finding(text)
    assert finding.message.endswith("and an evaluation leaves out all other rows")
    assert finding.consequence is Consequence.WRONG_NUMBER


def test_splits_that_are_dealt_in_one_place():
    splits = "for name in splits:\n    splits[name] = splits[name].shard(world, rank)\n"
    passed = "train_dataset=splits['train'], eval_dataset=splits['test']"
    text = program("splits = load_dataset('x')\n", splits, f"Trainer(model, training_args, {passed})\n")
    assert SNIPPETS.finding(text).consequence is Consequence.WRONG_TRAINING


@pytest.mark.parametrize("hook", ["_get_train_sampler(self)", "_get_eval_sampler(self, rows)"])
def test_a_sampler_that_a_trainer_asks_for(hook):
    text = trainer(f"def {hook}:\n    return DistributedSampler(self.train_dataset)\n")
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "DistributedSampler(self.train_dataset)"
    assert "return a sampler of all rows" in finding.help
    assert finding.fix is None or finding.fix.applicability is Applicability.DISPLAY


def test_a_trainer_before_it_prepared_its_loaders():
    text = trainer("def _get_train_sampler(self):\n    return DistributedSampler(self.train_dataset)\n")
    assert not Snippets("TRL022", Settings(target_transformers="4.30.2")).findings(text)
    assert Snippets("TRL022", Settings(target_transformers="4.31.0")).findings(text)


def test_a_trainer_of_a_copy_of_the_library(tmp_path):
    text = trainer("def _get_train_sampler(self):\n    return DistributedSampler(self.train_dataset)\n")
    assert [each[2] for each in found(written(tmp_path, {"train.py": text}))] == ["TRL022"]
    files = {"train.py": text, "src/transformers/trainer.py": "class Trainer:\n    pass\n"}
    assert not found(written(tmp_path, files))


def test_a_loader_that_a_trainer_prepares_itself():
    made = "DataLoader(self.train_dataset, sampler=DistributedSampler(self.train_dataset))"
    body = "def get_train_dataloader(self):\n    return {}\n"
    assert SNIPPETS.places(trainer(body.format(f"self.accelerator.prepare({made})")))
    assert not SNIPPETS.findings(trainer(body.format(made)))


OWN_TRAINER = """\
from torch.utils.data import DataLoader
from transformers import Trainer


class Mine(Trainer):
    def get_train_dataloader(self):
        return DataLoader(self.train_dataset)
"""


@pytest.mark.parametrize(("cls", "count"), [("Mine", 0), ("Trainer", 1)])
def test_a_trainer_of_another_file_with_loaders_of_its_own(tmp_path, cls, count):
    main = (
        f"from datasets.distributed import split_dataset_by_node\nfrom trainers import {cls}\n"
        "import torch.distributed as dist\n\n\ndef main(model, rows):\n"
        "    own = split_dataset_by_node(rows, rank=dist.get_rank(), world_size=dist.get_world_size())\n"
        f"    {cls}(model=model, train_dataset=own).train()\n"
    )
    folder = written(tmp_path, {"trainers.py": OWN_TRAINER, "train.py": main})
    assert len(found(folder, "train.py")) == count


@pytest.mark.parametrize(
    "parts",
    [
        (SAMPLER, LOADER),
        (SAMPLER, LOADER, "model = accelerator.prepare(model)\n"),
        ("sampler = RandomSampler(rows)\n", LOADER, PREPARE),
        (SAMPLER.replace("rows)", "rows, num_replicas=groups, rank=rank)"), LOADER, PREPARE),
        (SAMPLER.replace("rows)", "rows, num_replicas=1, rank=0)"), LOADER, PREPARE),
        (SAMPLER.replace("rows)", "rows, **args.sampler)"), LOADER, PREPARE),
        (SAMPLER, LOADER, "if world == 1:\n    loader = accelerator.prepare(loader)\n"),
        (SAMPLER, LOADER, "if args.prepare:\n    loader = accelerator.prepare(loader)\n"),
        (SAMPLER, LOADER, "if isinstance(sampler, DistributedSampler):\n    return loader\n", PREPARE),
        ("loader = accelerator.prepare(DataLoader(rows))\n", "loader = accelerator.prepare(loader)\n"),
        ("own = rows[rank::groups]\n", PREPARE_ROWS),
        ("own = rows.shard(groups, rank)\n", PREPARE_ROWS),
        ("own = rows.shard(world, args.index)\n", PREPARE_ROWS),
        ("own = rows[:: world]\n", PREPARE_ROWS),
        ("own = [0 for row in rows[rank::world]]\n", PREPARE_ROWS),
        ("own = [read(row) for row in rows[rank::groups]]\n", PREPARE_ROWS),
        ("own = CacheDataset(rows, lambda row: row[rank::world])\n", PREPARE_ROWS),
        ("own = CachedElsewhere(rows[rank::world])\n", PREPARE_ROWS),
        ("own = rows[rank::world] if args.share else rows\n", PREPARE_ROWS),
        ("own = rows[rank::world]\n", "loader = DataLoader(own)\n"),
        ("own = rows[rank::world]\n", "own = load_dataset('x')\n", PREPARE_ROWS),
        ("own = rows[rank::world]\n", "if args.all:\n    own = rows\nelse:\n    own = list(rows)\n", PREPARE_ROWS),
        ("own = rows\nif args.share:\n    own = rows[rank::world]\n", "if args.prepare:\n    " + PREPARE_ROWS),
        ("own = {'a': rows, 'b': rows}\nown['a'] = rows[rank::world]\nown = own['b']\n", PREPARE_ROWS),
        ("own = rows[rank::world]\n", "sampler = DistributedSampler(own, groups, rank)\n"),
        ("if rank == 0:\n", indent(SAMPLER + LOADER + PREPARE, "    ")),
        ("accelerator._is_accelerate_prepared = True\n", SAMPLER, LOADER, PREPARE),
    ],
)
def test_rows_that_are_dealt_once(parts):
    assert not SNIPPETS.findings(program(*parts))


@pytest.mark.parametrize(
    ("above", "made"),
    [
        (BUCKETS, "Buckets(rows, num_replicas=groups)"),
        (BUCKETS, "Buckets(rows, groups)"),
        (BUCKETS.replace("num_replicas=num_replicas", "num_replicas=dist.get_world_size() // 2"), "Buckets(rows)"),
        (BUCKETS + "    def __iter__(self):\n        return iter(range(len(self.dataset)))\n\n", "Buckets(rows)"),
    ],
)
def test_samplers_of_the_project_that_deal_to_others(above, made):
    assert not SNIPPETS.findings(program(LOADER.replace("=sampler", f"={made}"), PREPARE, above=above))


@pytest.mark.parametrize(
    "body",
    [
        "def _get_train_sampler(self):\n    return RandomSampler(self.train_dataset)\n",
        "def _get_train_sampler(self):\n    alone = self.args.local_rank == -1\n"
        "    return RandomSampler(self.train_dataset) if alone else DistributedSampler(self.train_dataset)\n",
        "def _get_train_sampler(self):\n    return DistributedSampler(self.train_dataset, self.groups, self.group)\n",
        "def _get_train_sampler(self):\n    return DistributedSampler(self.train_dataset)\n"
        "def get_train_dataloader(self):\n    return DataLoader(self.rows, sampler=self._get_train_sampler())\n",
    ],
)
def test_samplers_of_a_trainer_that_are_right(body):
    assert not SNIPPETS.findings(trainer(body))


def test_loaders_from_another_function_and_another_file(tmp_path):
    loaders = IMPORTS + "def make(rows):\n" + indent(SAMPLER + "return DataLoader(rows, sampler=sampler)\n", "    ")
    main = (
        "from accelerate import Accelerator\nfrom loaders import make\n\n\ndef main(rows):\n    loader = make(rows)\n"
    )
    main += "    return Accelerator().prepare(loader)\n"
    folder = written(tmp_path, {"loaders.py": loaders, "train.py": main})
    assert [each for each in found(folder, "train.py", "loaders.py") if each[2] == "TRL022"] == [
        ("train.py", 7, "TRL022")
    ]


def test_a_program_that_changes_what_prepare_does(tmp_path):
    text = program(SAMPLER, LOADER, PREPARE)
    patched = "import accelerate\n\naccelerate.data_loader.BatchSamplerShard.__iter__ = lambda self: self.all\n"
    folder = written(tmp_path, {"train.py": text, "start.py": patched})
    assert not found(folder, "train.py", "start.py")


LIGHTNING = """\
import torch.distributed as dist
from lightning.pytorch import LightningDataModule, Trainer
from torch.utils.data import DataLoader


class Data(LightningDataModule):
    def __init__(self, rows):
        super().__init__()
        self.rows = rows

    def train_dataloader(self):
        rank, world = dist.get_rank(), dist.get_world_size()
        return DataLoader(self.rows[rank::world], batch_size=4)


def main(model, rows):
    trainer = Trainer(devices=4, strategy="ddp")
    trainer.fit(model, datamodule=Data(rows))
"""


TOLD_BY_DATA = """\
from lightning.pytorch import LightningDataModule, Trainer
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset):
    def __init__(self, rows):
        self.rows = rows
        self.rank = 0
        self.world_size = 0

    def setup(self, rank, world_size):
        self.rank = rank
        self.world_size = world_size

    def __len__(self):
        return len(self.rows) // self.world_size

    def __getitem__(self, i):
        return self.rows[1 + i * self.world_size + self.rank]


class Data(LightningDataModule):
    def __init__(self, rows):
        super().__init__()
        self.rows = rows
        self.data = None

    def setup(self, stage=None):
        self.data = Rows(self.rows)
        self.data.setup(self.trainer.global_rank, self.trainer.world_size)

    def train_dataloader(self):
        return DataLoader(self.data, batch_size=4)


def main(model, rows):
    trainer = Trainer(devices=4, strategy="ddp")
    trainer.fit(model, datamodule=Data(rows))
"""


def test_rows_of_a_data_module_that_tells_them_the_rank(tmp_path):
    assert found(written(tmp_path, {"train.py": TOLD_BY_DATA}), "train.py") == [("train.py", 19, "TRL022")]
    other = TOLD_BY_DATA.replace("self.trainer.world_size", "self.trainer.num_nodes")
    assert not found(written(tmp_path, {"train.py": other}), "train.py")


def test_rows_for_the_sampler_that_lightning_injects(tmp_path):
    files = {"train.py": LIGHTNING}
    assert found(written(tmp_path, files), "train.py") == [("train.py", 13, "TRL022")]
    for option in ("use_distributed_sampler=False", "**options"):
        files = {"train.py": LIGHTNING.replace('strategy="ddp"', f'strategy="ddp", {option}')}
        assert not found(written(tmp_path, files), "train.py")


OWN_SAMPLER = """\
import torch.distributed as dist
from lightning.pytorch import LightningDataModule, Trainer
from torch.utils.data import DataLoader, Sampler


class Groups(Sampler):
    def __init__(self, rows):
        self.rows = rows
        self.world = None

    def __iter__(self):
        if dist.is_initialized():
            self.rank, self.world = dist.get_rank(), dist.get_world_size()
        else:
            self.rank, self.world = 0, None
        rows = list(range(len(self.rows)))
        yield from rows if self.world is None else rows[self.rank :: self.world]


class Data(LightningDataModule):
    def __init__(self, rows):
        super().__init__()
        self.rows = rows

    def load(self, rows):
        sampler = Groups(rows) if self.grouped else None
        options = dict(sampler=sampler, batch_size=4)
        return DataLoader(rows, **options)

    def train_dataloader(self):
        loader = self.load(self.rows)
        return loader


def main(model, rows):
    trainer = Trainer(devices=4, strategy="ddp")
    trainer.fit(model, datamodule=Data(rows))
"""


def test_lightning_deals_what_a_sampler_of_the_project_gives(tmp_path):
    assert found(written(tmp_path, {"train.py": OWN_SAMPLER}), "train.py") == [("train.py", 28, "TRL022")]
    replaced = [
        ("lightning.pytorch", "pytorch_lightning"),  # it may be a release that replaces the sampler
        ("Groups(Sampler)", "Groups(DistributedSampler)"),
        ("sampler=sampler", "batch_sampler=sampler"),
        ('strategy="ddp"', 'strategy="ddp", use_distributed_sampler=False'),
        ("self.rank, self.world = dist.get_rank(), dist.get_world_size()", "self.rank, self.world = 0, 1"),
        ("rows[self.rank :: self.world]", "rows"),
    ]
    for old, new in replaced:
        text = OWN_SAMPLER.replace(old, new).replace("import DataLoader,", "import DataLoader, DistributedSampler,")
        assert not found(written(tmp_path, {"train.py": text}), "train.py")


@pytest.mark.parametrize(
    ("loader", "lines"),
    [
        ("DataLoader(rows[dist.get_rank() :: dist.get_world_size()])", [("train.py", 10, "TRL022")]),
        ("DataLoader(rows, sampler=DistributedSampler(rows))", []),
        ("DataLoader(rows)", []),
    ],
)
def test_a_loader_that_lightning_is_given(tmp_path, loader, lines):
    text = "import torch.distributed as dist\nfrom lightning.pytorch import Trainer\n"
    text += "from torch.utils.data import DataLoader, DistributedSampler\n\n\ndef main(model, rows):\n"
    text += "    dist.init_process_group('nccl')\n    trainer = Trainer(devices=4, strategy='ddp')\n"
    text += f"    print(len(rows))\n    loader = {loader}\n    trainer.fit(model, loader)\n"
    assert found(written(tmp_path, {"train.py": text}), "train.py") == lines


@pytest.mark.parametrize(
    ("parameters", "arguments", "lines"),
    [
        ("rows, n", "own, 3", [("train.py", 13, "TRL022")]),
        ("n, rows", "own, files", []),
        ("n, rows", "3, own", [("train.py", 13, "TRL022")]),
        ("rows, n", "files, own", []),
    ],
)
def test_rows_that_a_static_method_returns(tmp_path, parameters, arguments, lines):
    text = "import torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
    text += "from torch.utils.data import DataLoader, DistributedSampler\n\ndist.init_process_group('nccl')\n"
    text += f"class Take:\n    @staticmethod\n    def rows({parameters}):\n        return rows\n\n"
    text += "def main(files, model):\n    model = DDP(model)\n"
    text += "    own = files[dist.get_rank() :: dist.get_world_size()]\n"
    text += f"    kept = Take.rows({arguments})\n    sampler = DistributedSampler(kept)\n"
    text += "    loader = DataLoader(kept, sampler=sampler)\n"
    text += "    for batch in loader:\n        model(batch).sum().backward()\n\nmain([], None)\n"
    assert found(written(tmp_path, {"train.py": text}), "train.py") == lines


# --- the fix --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "fixed"),
    [
        (SAMPLER + LOADER, LOADER.replace("sampler=sampler", "shuffle=True")),
        (
            SAMPLER.replace("rows)", "rows, shuffle=args.shuffle)") + LOADER,
            LOADER.replace("sampler=sampler", "shuffle=args.shuffle"),
        ),
        (
            SAMPLER.replace("rows)", "rows, world, rank, False)") + LOADER.replace("rows, ", "rows, shuffle=False, "),
            LOADER.replace("sampler=sampler", "shuffle=False"),
        ),
        (
            SAMPLER + LOADER.replace("sampler)", "sampler, shuffle=sampler is None)"),
            LOADER.replace("sampler=sampler", "shuffle=True"),
        ),
    ],
)
def test_the_loader_shuffles(made, fixed):
    text = program(made, PREPARE)
    assert SNIPPETS.finding(text).fix.applicability is Applicability.UNSAFE
    assert SNIPPETS.mended(text, unsafe=True) == program(fixed, PREPARE)


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (SAMPLER + LOADER + "sampler.set_epoch(1)\n", "the sampler is used elsewhere"),
        (SAMPLER.replace("rows)", "rows, seed=7)") + LOADER, "the sampler says more than whether it shuffles"),
        (SAMPLER.replace("rows", "args.rows") + LOADER, "the sampler says more than whether it shuffles"),
    ],
)
def test_where_the_fix_is_for_the_author(made, why):
    fix = SNIPPETS.finding(program(made, PREPARE)).fix
    assert (fix.applicability, fix.reason) == (Applicability.DISPLAY, why)
