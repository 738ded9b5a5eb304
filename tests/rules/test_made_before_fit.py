"""A file that is made if it is missing, before Lightning starts the other processes: they find it (TRL008)."""

from __future__ import annotations

import pytest
from started import findings_in

PROGRAM = """
import os
from pathlib import Path

import numpy as np
import pytorch_lightning as pl
import torch.distributed as dist
from lightning.fabric import Fabric


def table(path, rows):
    if not os.path.exists(path):
        np.save(path, rows)  # on request
    return np.load(path)


def statistics(folder, rows):
    path = Path(folder) / "statistics.npy"
    if path.exists():
        return np.load(path)
    np.save(path, rows)  # on request
    return rows


def write(path, rows):
    np.save(path, rows)  # on request


def masks(folder, rows):
    path = Path(folder) / "masks.npy"
    if not path.exists():
        write(path, rows)
    else:
        rows = np.load(path)
    return rows


def counts(rows, path=None):
    if path is not None and os.path.exists(path):
        return np.load(path)
    if path is not None:
        np.save(path, rows)  # on request
    return rows


def sums(rows, path=None):
    if path is not None and os.path.exists(path):
        rows = np.load(path)
    else:
        rows = rows.sum()
        if path is not None:
            np.save(path, rows)  # on request
    return rows


def train(args, model, rows):
    counts(rows, args.counts)
    sums(rows, args.sums)
    if args.use_cache and os.path.exists("used.npy"):
        rows = np.load("used.npy")
    else:
        np.save("used.npy", rows)  # reported
    table("before.npy", rows)
    statistics("cache", rows)
    masks("cache", rows)
    if args.use_cache and not os.path.exists("here.npy"):
        np.save("here.npy", rows)  # on request
    np.save("always.npy", rows)  # reported
    if os.path.exists("old.npy"):
        np.save("old.npy", rows)  # reported
    if args.again or not os.path.exists("again.npy"):
        np.save("again.npy", rows)  # reported
    if not os.path.exists("one.npy") or not os.path.exists("other.npy"):
        np.save("one.npy", rows)  # on request
        np.save("other.npy", rows)  # on request
    if not os.path.exists("images") or not len(list(Path("images").glob("*"))) == args.size:
        write("images/1.npy", rows)
    if len(list(Path("samples").glob("*"))) < args.size:
        np.save("samples/1.npy", rows)  # on request
    if len(list(Path("results").glob("*"))) == args.size:
        np.save("results/1.npy", rows)  # reported
    if len(list(Path("old").glob("*"))) != 0:
        np.save("old/1.npy", rows)  # reported
    trainer = pl.Trainer(devices=args.devices, strategy="ddp")
    trainer.fit(model)
    if not os.path.exists("after.npy"):
        np.save("after.npy", rows)  # reported


def train_as_asked(args, model, rows):
    if not os.path.exists("asked.npy"):
        np.save("asked.npy", rows)  # on request
    trainer = pl.Trainer.from_argparse_args(args)
    trainer.logdir = "logs"
    trainer.fit(model, rows)
    if not os.path.exists("late.npy"):
        np.save("late.npy", rows)  # reported
    if trainer.global_rank == 0:
        print(trainer.profiler.summary())


def train_in_group(args, model, rows):
    dist.init_process_group("nccl")
    if not os.path.exists("group.npy"):
        np.save("group.npy", rows)  # reported
    pl.Trainer(devices=args.devices, strategy="ddp").fit(model)


def train_again(args, model, rows):
    for fold in range(5):
        if not os.path.exists("folds.npy"):
            np.save("folds.npy", rows)  # reported
        pl.Trainer(devices=args.devices, strategy="ddp").fit(model, fold)


def sample(args, model, rows):
    table("sampled.npy", rows)
    if not os.path.exists("early.npy"):
        np.save("early.npy", rows)  # on request
    np.save("each.npy", rows)  # reported
    fabric = Fabric(devices=args.devices)
    fabric.launch()
    if not os.path.exists("late.npy"):
        np.save("late.npy", rows)  # reported


def main(args):
    if args.run == "train":
        train(args, args.model, args.rows)
    elif args.run == "group":
        train_in_group(args, args.model, args.rows)
    elif args.run == "asked":
        train_as_asked(args, args.model, args.rows)
    elif args.run == "sample":
        sample(args, args.model, args.rows)
    else:
        train_again(args, args.model, args.rows)


if __name__ == "__main__":
    main(read_arguments())
"""


def _lines(text: str, mark: str) -> list[int]:
    return [number for number, line in enumerate(text.splitlines(), 1) if mark in line]


def test_what_the_first_process_makes_is_only_reported_on_request(tmp_path):
    found = findings_in(tmp_path, {"train.py": PROGRAM}, "train.py")
    places = [(each.start.line, finding.by_default) for finding in found for each in (finding, *finding.also)]
    assert sorted(line for line, by_default in places if by_default) == _lines(PROGRAM, "# reported")
    assert sorted(line for line, by_default in places if not by_default) == _lines(PROGRAM, "# on request")


PARTS = """
import os

import lightning.pytorch as pl
import numpy as np
import torch


def table_of(folder):
    path = f"{folder}/table.npy"
    if not os.path.exists(path):
        np.save(path, np.zeros(3))  # on request
    return np.load(path)


class Data(pl.LightningDataModule):
    def __init__(self, folder="data"):
        super().__init__()
        self.table = table_of(folder)
        np.save("last.npy", self.table)  # reported

    def setup(self, stage=None):
        if not os.path.exists("rows.npy"):
            np.save("rows.npy", self.table)  # reported


class Task(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        if not os.path.isfile("start.pt"):
            torch.save(net.state_dict(), "start.pt")  # on request

    def training_step(self, batch, batch_idx):
        return self.net(batch).sum()
"""


def test_what_the_constructor_of_a_part_makes_is_there_before_the_others_are_started(tmp_path):
    found = findings_in(tmp_path, {"parts.py": PARTS}, "parts.py")
    places = [(each.start.line, finding.by_default) for finding in found for each in (finding, *finding.also)]
    assert sorted(line for line, by_default in places if by_default) == _lines(PARTS, "# reported")
    assert sorted(line for line, by_default in places if not by_default) == _lines(PARTS, "# on request")


FOLDS = """
import os

import lightning.pytorch as pl
import numpy as np


class Folds:
    def __init__(self, count, folder="folds"):
        self.count = count
        self.folder = folder

    def write(self, rows):
        for fold in range(self.count):
            np.save(os.path.join(self.folder, f"{fold}.npy"), rows[fold :: self.count])  # on request

    def split(self, rows):
        if not os.path.exists(self.folder):
            os.makedirs(self.folder)  # on request
            self.write(rows)
        for fold in range(self.count):
            mean = os.path.join(self.folder, f"mean_{fold}.npy")
            if not os.path.exists(mean):
                np.save(mean, rows.mean())  # reported
            yield np.load(os.path.join(self.folder, f"{fold}.npy"))


def main(rows, module):
    if not os.path.exists("rows.npy"):
        np.save("rows.npy", rows)  # on request
    for fold, part in enumerate(Folds(5).split(rows)):
        if not os.path.exists(f"part_{fold}.npy"):
            np.save(f"part_{fold}.npy", part)  # reported
        trainer = pl.Trainer(devices=2, strategy="ddp")
        trainer.fit(module, part)


if __name__ == "__main__":
    main(np.zeros(8), object())
"""


def test_a_fit_in_a_loop_comes_after_what_is_before_the_loop(tmp_path):
    """Also what a generator does before it yields the first element; in later turns, all processes are there."""
    found = findings_in(tmp_path, {"train.py": FOLDS}, "train.py")
    places = [(each.start.line, each.by_default) for finding in found for each in (finding, *finding.also)]
    assert sorted(line for line, by_default in places if by_default) == _lines(FOLDS, "# reported")
    assert sorted(line for line, by_default in places if not by_default) == _lines(FOLDS, "# on request")


def test_a_launcher_starts_all_processes_at_once(tmp_path):
    files = {"train.py": PROGRAM, "run.sh": "torchrun --nproc_per_node 4 train.py\n"}
    found = findings_in(tmp_path, files, "train.py")
    places = [each.start.line for finding in found for each in (finding, *finding.also) if finding.by_default]
    assert sorted(places) == sorted(_lines(PROGRAM, "# reported") + _lines(PROGRAM, "# on request"))


@pytest.mark.parametrize(
    ("command", "starts_one"),
    [
        ("python train.py --gpus 0,1", True),
        ("python train.py --devices 4 --num_nodes 1", True),
        ("python train.py --gpus 1", True),
        ("python train.py --gpu 0,1", True),
        ("for i in 0 1; do python train.py --gpus 1 --local_rank $i & done", False),
        ("RANK=1 python train.py --gpus 2", False),
        ("python train.py --gpus 2 --num_nodes 2", False),
        ("srun --ntasks=2 python train.py --gpus 2", False),
        ("torchrun --nproc_per_node 2 train.py --gpus 2", False),
    ],
)
def test_a_program_that_is_given_gpus_starts_the_others_itself(tmp_path, command, starts_one):
    files = {"train.py": PROGRAM, "run.sh": f"{command}\n"}
    found = [each for each in findings_in(tmp_path, files, "train.py") if not each.by_default]
    assert bool(found) is starts_one


def test_so_does_what_runs_several_tasks(tmp_path):
    files = {"train.py": PROGRAM, "run.sh": "srun --ntasks=4 python train.py\n"}
    assert len([each for each in findings_in(tmp_path, files, "train.py") if each.by_default]) > 5


CHECKED = """
import hashlib
import os
import warnings

import numpy as np
import pytorch_lightning as pl


def digest(path):
    return hashlib.md5(open(path, "rb").read()).hexdigest()


def right(path, rows, wanted, args):
    if os.path.isfile(path):
        if hashlib.sha256(open(path, "rb").read()).hexdigest() == wanted:
            return
        else:
            warnings.warn("it is made again")
    np.save(path, rows)  # on request


def right_as_well(path, rows, wanted, args):
    if os.path.isfile(path) and digest(path) == wanted:
        return
    np.save(path, rows)  # on request


def not_right(path, rows, wanted, args):
    if not (os.path.isfile(path) and digest(path) == wanted):
        np.save(path, rows)  # on request


def missing_or_not_right(path, rows, wanted, args):
    if not os.path.exists(path) or os.path.getsize(path) != wanted:
        np.save(path, rows)  # on request


def wrong(path, rows, wanted, args):
    if os.path.isfile(path):
        if digest(path) != wanted:
            return
    np.save(path, rows)  # reported


def missing_or_right(path, rows, wanted, args):
    if not os.path.isfile(path) or digest(path) == wanted:
        np.save(path, rows)  # reported


def of_another(path, rows, wanted, args):
    if os.path.isfile(path):
        if digest(args.other) == wanted:
            return
    np.save(path, rows)  # reported


def of_options(path, rows, wanted, args):
    if os.path.isfile(path):
        if args.made == wanted:
            return
    np.save(path, rows)  # reported


def main(args):
    right("right.npy", args.rows, args.wanted, args)
    right_as_well("right_as_well.npy", args.rows, args.wanted, args)
    not_right("not_right.npy", args.rows, args.wanted, args)
    missing_or_not_right("missing_or_not_right.npy", args.rows, args.wanted, args)
    wrong("wrong.npy", args.rows, args.wanted, args)
    missing_or_right("missing_or_right.npy", args.rows, args.wanted, args)
    of_another("of_another.npy", args.rows, args.wanted, args)
    of_options("of_options.npy", args.rows, args.wanted, args)
    pl.Trainer(devices=args.devices, strategy="ddp").fit(args.model)
    right("after.npy", args.rows, args.wanted, args)


if __name__ == "__main__":
    main(read_arguments())
"""


@pytest.mark.parametrize(("command", "at_once"), [("python train.py", False), ("srun -n 4 python train.py", True)])
def test_what_is_in_the_file_that_one_process_has_made_is_as_wanted(tmp_path, command, at_once):
    program = CHECKED.replace('    right("after.npy", args.rows, args.wanted, args)\n', "")
    found = findings_in(tmp_path, {"train.py": program, "run.sh": f"{command}\n"}, "train.py")
    places = [(each.start.line, finding.by_default) for finding in found for each in (finding, *finding.also)]
    reported, on_request = (_lines(program, mark) for mark in ("# reported", "# on request"))
    assert sorted(line for line, by_default in places if by_default) == sorted(reported + on_request * at_once)
    assert sorted(line for line, by_default in places if not by_default) == on_request * (not at_once)


def test_all_processes_look_at_it_after_they_are_started(tmp_path):
    program = CHECKED.replace('    right("right.npy", args.rows, args.wanted, args)\n', "")
    found = findings_in(tmp_path, {"train.py": program}, "train.py")
    (first, *_) = _lines(program, "# on request")
    assert first in [each.start.line for finding in found for each in (finding, *finding.also) if finding.by_default]


DATA = """
import os

import numpy as np
import lightning.pytorch as pl


def table(rows, path=None):
    if path is not None and os.path.exists(path):
        return np.load(path)
    if path is not None:
        np.save(path, rows)
    return rows


class Rows(pl.LightningDataModule):
    def __init__(self, args):
        super().__init__()
        self.table = table(args.rows, args.path)
"""
FITS = """
import lightning.pytorch as pl

from data import Rows


def main(args, model):
    rows = Rows(args)
    trainer = pl.Trainer(devices=args.devices, {}strategy="ddp")
    trainer.fit(model, datamodule=rows)


if __name__ == "__main__":
    main(read_arguments(), read_model())
"""


@pytest.mark.parametrize(
    ("nodes", "command", "is_default"),
    [
        ("", "python train.py", False),
        ("num_nodes=1, ", "python train.py", False),
        ("num_nodes=2, ", "python train.py", True),
        ("", "python train.py --gpus 2 --num_nodes 2", True),
        ("", "torchrun --nproc_per_node 4 train.py", True),
    ],
)
def test_what_the_constructor_of_a_data_module_makes(tmp_path, nodes, command, is_default):
    """Each node has a first process: with several nodes, these get there at the same time."""
    files = {"train.py": FITS.format(nodes), "data.py": DATA, "run.sh": f"{command}\n"}
    assert [each.by_default for each in findings_in(tmp_path, files, "data.py")] == [is_default]


LIBRARY = """
import os

import numpy as np
from lightning.fabric import Fabric


def table(path, rows):
    if not os.path.exists(path):
        np.save(path, rows)
    return np.load(path)


def sample(args, rows):
    {}
    fabric = Fabric(devices=args.devices)
    fabric.launch()
    {}
"""


def test_another_file_may_call_what_starts_the_processes(tmp_path):
    made, nothing = 'table("x.npy", rows)', "print(rows)"
    for name, parts, is_default in (("before", (made, nothing), False), ("after", (nothing, made), True)):
        files = {"main.py": "from library import sample\n\nsample(read(), 3)\n", "library.py": LIBRARY.format(*parts)}
        (tmp_path / name).mkdir()
        found = findings_in(tmp_path / name, files, "library.py")
        assert [each.by_default for each in found] == [is_default]
