"""TRL002: a model that DDP wraps twice: what is inside the outer wrapper is a wrapper as well."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL002")

SCRIPT = """\
import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from transformers import AutoModelForCausalLM


def train(rank, name, path):
    torch.distributed.init_process_group("nccl")
    model = AutoModelForCausalLM.from_pretrained(name).to(rank)
    model = DDP(model, device_ids=[rank])
    {again}
    {read}
"""
AGAIN = "model = DDP(model, device_ids=[rank], output_device=rank)"


@pytest.mark.parametrize(
    ("again", "read", "is_reported"),
    [
        (AGAIN, "model.module.save_pretrained(path)", True),
        (AGAIN, "bare = model.module\n    print(bare.depth)", True),
        (AGAIN, "model.module.module.save_pretrained(path)", False),
        (AGAIN, "print(len(model.module.state_dict()))", False),
        ("pass", "model.module.save_pretrained(path)", False),
        # Another model, or the module inside.
        ("model = DDP(model.module, device_ids=[rank])", "model.module.save_pretrained(path)", False),
        ("model = DDP(AutoModelForCausalLM.from_pretrained(name))", "model.module.save_pretrained(path)", False),
        # It may be the only wrapper: on the other path there is none.
        ("if rank:\n        model = model.module\n    " + AGAIN, "model.module.save_pretrained(path)", False),
    ],
)
def test_what_is_inside_the_second_wrapper_is_the_first(again, read, is_reported):
    assert bool(SNIPPETS.findings(SCRIPT.format(again=again, read=read))) is is_reported


def test_the_chain_names_the_first_wrapper():
    text = SCRIPT.format(again=AGAIN, read="model.module.save_pretrained(path)")
    finding = SNIPPETS.finding(text)
    assert [step.text for step in finding.because] == [
        "it is wrapped here",
        "`model.module` is the first of two wrappers",
    ]
    assert finding.help == "call it on the bare model (`model.module.module.save_pretrained(...)`)"
