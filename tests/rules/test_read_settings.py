"""Values that a program reads from files that all ranks find, or derives from them, are the same on each: TRL008."""

from __future__ import annotations

from pathlib import Path

import pytest
from snippets import Snippets

from trl_lint import api

SNIPPETS = Snippets("TRL008")

PROGRAM = """\
import argparse, json, os, pathlib, pickle, types
import numpy as np
import omegaconf, torch, tyro, yaml
from accelerate import Accelerator
from easydict import EasyDict
from out_of_sight import Config, picked, path_of

def main(path):
    accelerator = Accelerator()
    rank = accelerator.process_index
    {lines}
    if found:
        torch.save({{}}, os.path.join(os.path.dirname(__file__), "x.pt"))

main("config.json")
"""


@pytest.mark.parametrize(
    ("lines", "is_reported"),
    [
        ("found = json.load(open(path))['x']", True),
        ("with open(path) as file:\n        found = yaml.safe_load(file)['x']['y']", True),
        ("with open(path, 'rb') as file:\n        found = pickle.load(file)", True),
        ("found = open(path).readlines()[0].strip()", True),
        ("found = torch.load(path, map_location=f'cuda:{rank}')['x']", True),
        ("found = np.load(path)[0]", True),
        ("found = json.loads(pathlib.Path(path).read_text())['x']", True),
        ("found = json.loads(pathlib.Path(path).read_text()).get('rows', [])[0]", True),
        ("found = pathlib.Path(path).open().read()", True),
        ("found = omegaconf.OmegaConf.load(path).x", True),
        ("found = types.SimpleNamespace(**json.load(open(path))).x", True),
        ("found = EasyDict(yaml.safe_load(open(path))).x", True),
        ("found = tyro.cli(Config).x", True),
        ("for name in json.load(open(path)):\n        found = name", True),
        ("read = json.load(open(path))\n    read['a']['x'] = path.y  # as asked for\n    found = read['a']['x']", True),
        # One file for each rank, or an unknown file.
        ("found = json.load(open(f'{rank}.json'))['x']", False),
        ("found = torch.load(f'{rank}.pt')['x']", False),
        ("found = json.loads(pathlib.Path(f'{rank}.json').read_text())['x']", False),
        ("found = json.loads(picked())['x']", False),
        ("found = pathlib.Path(path).open(picked()).read()", False),
        ("found = json.load(open(path_of(rank)))['x']", False),
        ("found = open(path, picked()).read()", False),
        # The content is the same, and each rank takes another part of it.
        ("found = json.load(open(path))[rank]", False),
        ("found = types.SimpleNamespace(rank=picked()).x", False),
        ("read = json.load(open(path))\n    read['x'] = path.rank\n    found = read['x']", False),
        ("read = json.load(open(path))\n    read['x'] = picked()\n    found = read['x']", False),
        ("read = json.load(open(path))\n    read['x'] = rank\n    found = read['x']", False),
        # A name that says that the value is the rank's own.
        ("found = EasyDict(yaml.safe_load(open(path))).is_main_process", False),
        ("found = json.load(open(path))['local_rank']", False),
        ("found = picked()", False),
    ],
)
def test_what_is_read_from_a_shared_file(lines, is_reported):
    assert bool(SNIPPETS.findings(PROGRAM.format(lines=lines))) is is_reported


TRAINED = """\
import torch, wandb
from accelerate import Accelerator
from out_of_sight import batches, make_model, score, steps_done, take

def main(args):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(make_model(), torch.utils.data.DataLoader(take()))
    best, step = 0.0, 0
    {around}
        for batch in loader:
            loss = model(batch).loss.mean()
            accelerator.backward(loss)
            if {test}:
                best = loss
                torch.save({{}}, "best.pt")
"""
ANY = "for epoch in range(3):"


WRITES = "writes the same file at the same time, which may damage it"


@pytest.mark.parametrize(
    ("around", "test", "where"),
    [
        # The number of iterations is the same, or unknown: no rank is excluded.
        ("for epoch in range(steps_done(), args.epochs):", "True", ""),
        ("for epoch in steps_done():", "True", ""),
        ("while step < steps_done():", "True", ""),
        # Ranks selected by their own data: one of them, several or all.
        (ANY, "loss < best", "loss < best"),
        (ANY, "batch['x'].sum() > 3", "batch['x'].sum() > 3"),
        # It is unknown which ranks that selects.
        (ANY, "score(model)", None),
        (ANY, "accelerator.is_main_process and loss < best", None),
        (ANY, "loss * accelerator.process_index < best", None),
        ("for epoch in range(accelerator.process_index):", "True", None),
        ("for epoch in range(3 if accelerator.is_main_process else 0):", "True", None),
    ],
)
def test_which_conditions_keep_ranks_out(around, test, where):
    found = SNIPPETS.findings(TRAINED.format(around=around, test=test))
    assert len(found) == (where is not None)
    if found:
        said = f" where `{where}` holds" if where else ""
        assert found[0].message == f"`torch.save` runs on all processes{said}: each of them {WRITES}"


def test_a_way_out_by_own_data_is_named_by_nobody():
    text = TRAINED.format(around=ANY, test="True").replace(
        "            loss = ", "            if batch['x'].sum() == 0:\n                continue\n            loss = "
    )
    found = SNIPPETS.findings(text)
    assert [each.message for each in found] == [f"`torch.save` runs on all processes: each of them {WRITES}"]


def test_a_debug_file_of_ranks_on_which_something_fails():
    text = TRAINED.format(around=ANY, test="False").replace(
        "            accelerator.backward(loss)",
        "            try:\n                accelerator.backward(loss)\n            except RuntimeError:\n"
        '                torch.save({}, "debug.pt")\n                raise',
    )
    assert SNIPPETS.findings(text) == []


def test_a_helper_in_another_file_says_who_calls_it(tmp_path):
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "paths.py").write_text(
        "import yaml\n\ndef write(options):\n    yaml.dump(options, open('options.yaml', 'w'))\n"
    )
    (tmp_path / "train.py").write_text(
        "import torch.distributed as dist\nfrom paths import write\n\n"
        "def main(options):\n    dist.init_process_group('nccl')\n    write(options)\n\nmain({})\n"
    )
    (finding,) = api.check(tmp_path)
    assert (finding.code, Path(finding.path).name) == ("TRL008", "paths.py")
    assert [(each.text, Path(each.path).name, each.start.line) for each in finding.because] == [
        ("each process runs `dist.init_process_group('nccl')`", "train.py", 5),
        ("called here: `write(options)`", "train.py", 6),
    ]


TPU = """\
import json
import torch

class Model:
    def save(self, folder):
        config = json.load(open("config.json"))
        if config["on_tpu"]:
            import torch_xla.core.xla_model as xm
            if xm.is_master_ordinal():
                print(folder)
        else:
            {asked}
            torch.save({{}}, "x.pt")
"""


@pytest.mark.parametrize(
    ("asked", "is_reported"),
    [("pass", False), ("if torch.distributed.get_rank() == 0:\n                print(folder)", True)],
)
def test_who_asks_for_a_core_of_a_tpu_says_nothing_of_gpus(asked, is_reported):
    assert bool(SNIPPETS.findings(TPU.format(asked=asked))) is is_reported


FIELDS = """\
import os, time, torch
from accelerate import Accelerator
from out_of_sight import picked

def main(args):
    accelerator = Accelerator()
    rank = accelerator.process_index
    {lines}
    torch.save({{}}, os.path.join(args.chosen, "x.pt"))
"""


@pytest.mark.parametrize(
    ("lines", "is_reported"),
    [
        ('args.chosen = "runs"', True),
        ('args.chosen = os.path.join("runs", time.strftime("%Y%m%d"))', True),
        ("args.chosen = os.path.join(args.chosen, args.name)", True),
        ("args.chosen = os.path.join(args.chosen, time.strftime('%Y%m%d'))", True),
        ('args.chosen = os.path.join(args.chosen, args.name)\n    args.chosen += "/x"', True),
        ('args.chosen = f"runs/{rank}"', False),
        ('args.chosen = "runs"\n    args.chosen = f"runs/{rank}"', False),
        ('args.chosen = os.path.join(args.chosen, f"rank_{rank}")', False),
        ("args.chosen = picked()", False),
        ('args.chosen = "runs"\n    args.chosen = picked()', False),
        ('args.chosen = "runs"\n    if args.many:\n        args.chosen = picked()', False),
        ('args.chosen = "runs"\n    if accelerator.is_main_process:\n        args.chosen = "main"', False),
        ('if args.many:\n        args.chosen = picked()\n    else:\n        args.chosen = "runs"', False),
    ],
)
def test_what_is_put_into_a_field_of_the_settings(lines, is_reported):
    assert bool(SNIPPETS.findings(FIELDS.format(lines=lines))) is is_reported


OPTIONS = """\
import argparse, yaml
from accelerate import Accelerator

def parse():
    args = argparse.ArgumentParser().parse_args()
    {lines}
    return args

def run(name, chosen=None, local_rank=0, is_main_process=True):
    accelerator = Accelerator()
    if {test}:
        open("x.txt", "w")

args = parse()
{later}
run(**vars(args))
"""
MERGED = "args = argparse.Namespace(**{**vars(args), **yaml.safe_load(open(args.config))})"


@pytest.mark.parametrize(
    ("lines", "test", "later", "is_reported"),
    [
        ("pass", "chosen is not None", "", True),
        (MERGED, "chosen is not None", "", True),
        ("options = {**vars(args)}\n    args.shown = options['name']", "name == 'a'", "", True),
        # The rank itself, by its name, or a value that any file assigns.
        ("pass", "local_rank in (-1, 0)", "", False),
        (MERGED, "is_main_process", "", False),
        ("pass", "chosen is not None", "args.chosen = is_main_process()", False),
    ],
)
def test_options_that_are_handed_on_by_their_names(lines, test, later, is_reported):
    assert bool(SNIPPETS.findings(OPTIONS.format(lines=lines, test=test, later=later))) is is_reported


LEFT = """\
import os, shutil
from accelerate import Accelerator

def note(path):
    {left}
    open(path, "w").write("x")

def main():
    accelerator = Accelerator()
    note("x.txt")
"""
TRIED = "try:\n        read()\n    except {}:\n        return"


@pytest.mark.parametrize(
    ("left", "is_reported"),
    [
        ("if not shutil.which('git'): return", True),
        (TRIED.format("InvalidGitRepositoryError"), True),
        (TRIED.format("(ImportError, git.InvalidGitRepositoryError)"), True),
        (TRIED.format("OSError"), False),
        (TRIED.format("StopIteration"), False),
        (TRIED.format("Exception"), False),
        ("if not has_git(): return", False),
    ],
)
def test_what_is_installed_is_so_on_all_ranks(left, is_reported):
    assert bool(SNIPPETS.findings(LEFT.format(left=left))) is is_reported


OWN = """\
import argparse, json, os
from accelerate import Accelerator

class AttrDict(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self

class ByName(dict):
    __getattr__ = dict.get

class HParams:
    def __init__(self, **kwargs):
        for name, value in kwargs.items():
            setattr(self, name, value)

    def keys(self):
        return self.__dict__.keys()

class Fields:
    def __init__(self, given):
        self.__dict__.update(given)

class Program:
    def __init__(self, **kwargs):
        for name, value in kwargs.items():
            setattr(self, name, value)

    def run(self):
        return 1

class Chosen:
    def __init__(self, **kwargs):
        self.x = out_of_sight(kwargs)

def main(path):
    accelerator = Accelerator()
    options = json.loads(open(path).read())
    h = {made}
    if {asked}:
        os.mkdir("x")

main(argparse.ArgumentParser().parse_args().config)
"""


@pytest.mark.parametrize(
    ("made", "asked", "is_reported"),
    [
        ("AttrDict(options)", "h.x", True),
        ("AttrDict(options)", "h['x'] > 1", True),
        ("ByName(options)", "h.x.y", True),
        ("HParams(**options)", "h.x", True),
        ("Fields(options)", "h.x", True),
        ("AttrDict(options)", "h.local_rank == 0", False),
        ("AttrDict(out_of_sight())", "h.x", False),
        ("HParams(x=accelerator.is_main_process)", "h.x", False),
        # Also if it is no class of settings: nothing else sets the attribute.
        ("Program(**options)", "h.x", True),
        ("Chosen(**options)", "h.x", False),
    ],
)
def test_a_class_that_makes_attributes_of_settings(made, asked, is_reported):
    assert bool(SNIPPETS.findings(OWN.format(made=made, asked=asked))) is is_reported
