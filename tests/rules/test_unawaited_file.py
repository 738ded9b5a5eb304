"""TRL032: which files ranks read before another one has written them, and the message."""

from __future__ import annotations

from textwrap import dedent, indent

import pytest
from snippets import Snippets, shown

from trl_lint.findings import Consequence

SNIPPETS = Snippets("TRL032")
IMPORTS = """\
import json
import os
import pickle
import shutil
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoTokenizer

from elsewhere import compute, wait_for_all

def save(state, path):
    torch.save(state, path)

def load(path):
    return torch.load(path, map_location="cpu")

def save_on_main(state, path):
    if dist.get_rank() == 0:
        torch.save(state, path)

def save_and_wait(state, path):
    save_on_main(state, path)
    dist.barrier()

def wait_and_load(path):
    dist.barrier()
    return torch.load(path)

"""
WRITES = [
    "if dist.get_rank() == 0:\n    torch.save(state, path)",
    "if dist.get_rank() == 0:\n    save(state, path)",
    "save_on_main(state, path)",
    "if main and dist.get_rank() == 0:\n    torch.save(state, path)",
    "if not os.path.exists(path) and dist.get_rank() == 0:\n    torch.save(state, path)",
    "if dist.get_rank() == 0:\n    np.save(path, state)",
    "if dist.get_rank() == 0:\n    with open(path, 'w') as file:\n        json.dump(state, file)",
    "if dist.get_rank() == 0:\n    Path(path).write_text('x')",
    "for _ in range(3):\n    if dist.get_rank() == 0:\n        torch.save(state, path)",
]
READS = [
    "state = torch.load(path)",
    "state = load(path)",
    "state = np.load(path)",
    "with open(path) as file:\n    state = json.load(file)",
    "with open(path, 'rb') as file:\n    state = pickle.load(file)",
    "state = Path(path).read_text()",
    "if os.path.exists(path):\n    state = torch.load(path)",
    "shutil.copy(path, 'mine')",
]
WAITS = [
    "dist.barrier()",
    "dist.all_reduce(state)",
    "wait_for_all()",
    "sync = compute(state).wait()",
    "while not os.path.exists(path):\n    time.sleep(1)",
    "model = DDP(model)",
    "for x in loader:\n    DDP(model)(x).mean().backward()",
    "if dist.is_initialized():\n    dist.barrier()",
    "save_and_wait(state, 'other')",
    "wait_and_load('other')",
]


def program(*parts: str) -> str:
    body = "".join(dedent(each).strip("\n") + "\n" for each in parts)
    return f"{IMPORTS}def main(args, state, model, loader, path, main, first, last):\n{indent(body, '    ')}"


def reported(*parts: str) -> list[str]:
    text = program(*parts)
    return [shown(text, each) for each in SNIPPETS.findings(text)]


def test_the_message_and_the_place():
    text = program(WRITES[0], READS[0])
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "torch.load(path)"
    assert finding.message == (
        "`torch.load` uses what only some ranks write, and the others do not wait for it: "
        "they may find no file, an old one or a part of one"
    )
    assert finding.consequence is Consequence.RACE
    assert finding.help == "let all ranks wait in between: `dist.barrier()` after the write, where all of them get"


@pytest.mark.parametrize("write", WRITES)
def test_writes_of_some_ranks(write):
    assert reported(write, READS[0])
    assert not reported(write, "dist.barrier()", READS[0])


@pytest.mark.parametrize("read", READS)
def test_reads_of_all_ranks(read):
    assert reported(WRITES[0], read)
    assert not reported(WRITES[0], "dist.barrier()", read)
    assert not reported(WRITES[0], "if dist.get_rank() == 0:\n" + indent(read, "    "))
    assert not reported(read, WRITES[0])


@pytest.mark.parametrize("wait", WAITS)
def test_what_makes_the_others_wait(wait):
    assert not reported(WRITES[0], wait, READS[0])
    assert not reported("save_on_main(state, path)", wait, "load(path)")
    assert reported(wait, WRITES[0], READS[0])


def test_waits_in_helpers():
    assert not reported("save_and_wait(state, path)", "load(path)")
    assert not reported("save_on_main(state, path)", "wait_and_load(path)")
    assert reported("save_on_main(state, path)", "load(path)") == ["load(path)"]


@pytest.mark.parametrize(("written", "read"), [
    ("path", "path"),
    ("f'{args.out}/best.pt'", "os.path.join(args.out, 'best.pt')"),
    ("Path(args.out) / 'best.pt'", "args.out + '/best.pt'"),
    ("'best.pt'", "'./best.pt'"),
    ("os.path.join(args.out, f'{args.name}.pt')", "os.path.join(args.out, f'{args.name}.pt')"),
    ("args.files['best']", "args.files['best']"),
])  # fmt: skip
def test_the_same_path(written, read):
    write = f"if dist.get_rank() == 0:\n    torch.save(state, {written})\n"
    assert reported(write, f"torch.load({read})")
    assert reported(f"save_on_main(state, {written})", f"load({read})")
    named = f"name = {written}\nif dist.get_rank() == 0:\n    torch.save(state, name)\n"
    assert reported(named, f"torch.load({read})")


@pytest.mark.parametrize(("written", "read"), [
    ("first", "last"),
    ("f'{args.out}/last.pt'", "f'{args.out}/best.pt'"),
    ("f'{args.out}/{first}.pt'", "f'{args.out}/{last}.pt'"),
    ("args.out", "args.resume"),
    ("args.files['best']", "args.files['last']"),
    ("path", "f'{path}-{dist.get_rank()}'"),
])  # fmt: skip
def test_another_path(written, read):
    assert not reported(f"if dist.get_rank() == 0:\n    torch.save(state, {written})\n", f"torch.load({read})")
    assert not reported(f"save_on_main(state, {written})", f"load({read})")


def test_one_of_two_paths():
    name = "name = first if main else last\nif dist.get_rank() == 0:\n    torch.save(state, name)\n"
    assert reported(name, "torch.load(last)")


def test_names_that_are_bound_again():
    assert not reported(WRITES[0], "path = first", READS[0])
    assert not reported(
        "for name in first:\n    if dist.get_rank() == 0:\n        torch.save(state, name)",
        "for name in last:\n    torch.load(name)",
    )
    assert not reported("save_on_main(state, args.out)", "args.out = first", "load(args.out)")


def test_ways_on_which_only_one_is_reached():
    assert not reported("if main:\n    save_on_main(state, path)\nelse:\n    load(path)")
    assert not reported("if main:\n    save_on_main(state, path)\n    return\nload(path)")
    assert not reported(WRITES[0], "if dist.get_rank() != 0:\n    return", READS[0])
    assert not reported("for x in loader:\n    load(path)\n    save_on_main(state, path)")


def test_ranks_that_do_it_one_after_the_other():
    start = "accelerator = Accelerator()\n"
    write = "if accelerator.is_main_process:\n    torch.save(state, path)\n"
    assert reported(start, write, READS[0])
    assert not reported(start, "with accelerator.main_process_first():\n" + indent(write + READS[0], "    "))
    assert not reported(start, write, "accelerator.wait_for_everyone()", READS[0])
    assert SNIPPETS.finding(program(start, write, READS[0])).help.startswith(
        "let all ranks wait in between: `accelerator.wait_for_everyone()`"
    )


def test_all_ranks_write_it():
    assert not reported(WRITES[0], "torch.save(state, path)", READS[0])
    assert not reported("torch.save(state, path)", READS[0])


def test_errors_that_are_expected():
    assert not reported(WRITES[0], "try:\n    state = torch.load(path)\nexcept FileNotFoundError:\n    state = None")


def test_a_condition_that_may_be_about_the_rank():
    assert not reported(WRITES[0], "if compute(main):\n    torch.load(path)")
    assert reported("if compute(main):\n    save_on_main(state, path)\n    torch.load(path)")


@pytest.mark.parametrize("make", ["os.makedirs(args.out, exist_ok=True)", "Path(args.out).mkdir(exist_ok=True)"])
def test_folders_that_some_ranks_make(make):
    made = f"if dist.get_rank() == 0:\n    {make}\n"
    own = "torch.save(state, os.path.join(args.out, f'{dist.get_rank()}.pt'))"
    text = program(made, own)
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == own
    assert finding.message == (
        "`save` writes in a folder that only some ranks make, and the others do not wait for it: it may be missing"
    )
    assert not reported(make, own)
    assert not reported(made, "dist.barrier()", own)
    assert not reported(made, make, own)
    assert not reported(made, "os.makedirs(os.path.join(args.out, 'parts'), exist_ok=True)", own)
    assert not reported(made, "torch.save(state, os.path.join(args.other, f'{dist.get_rank()}.pt'))")
    assert not reported(made, f"if dist.get_rank() == 0:\n    {own}")
    assert not reported(made, "torch.load(args.out)")
    assert reported(made, "os.listdir(args.out)") == ["os.listdir(args.out)"]


def test_models_and_tokenizers_in_folders():
    write = "if dist.get_rank() == 0:\n    tokenizer.save_pretrained(args.out)\n"
    start = "tokenizer = AutoTokenizer.from_pretrained(args.name)\n"
    assert reported(start, write, "AutoTokenizer.from_pretrained(args.out)")
    assert not reported(start, write, "dist.barrier()", "AutoTokenizer.from_pretrained(args.out)")
    assert not reported(start, write, "AutoTokenizer.from_pretrained(args.name)")


METHODS = """\
class Runner:
    def __init__(self, args):
        self.out = args.out

    def save(self, state):
        if dist.get_rank() == 0:
            torch.save(state, os.path.join(self.out, "best.pt"))

    def test(self):
        return torch.load(os.path.join(self.out, "best.pt"))

    def run(self, state):
        self.save(state)
{wait}        self.test()
"""


def test_methods_of_one_object():
    start = "\ndef main(args):\n    dist.init_process_group('nccl')\n    Runner(args).run({})\n\nmain(None)\n"
    text = IMPORTS + METHODS.format(wait="") + start
    assert shown(text, SNIPPETS.finding(text)) == "self.test()"
    assert not SNIPPETS.findings(IMPORTS + METHODS.format(wait=" " * 8 + "dist.barrier()\n") + start)
