"""TRL002: a nested function that collates batches reads the model that the function has wrapped by then."""

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL002")

SCRIPT = """\
import torch
from out_of_sight import Loader
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from tqdm import tqdm


def train(args, data, model):
    def collate(rows):
        {read}

    {loader}
    {wrap}
    for batch in {looped}:
        loss = model(batch)
        loss.backward()


def plain(rows):
    return rows
"""
READ = "return model.align(rows)"
LOADER = "loader = DataLoader(data, batch_size=4, collate_fn=collate)"
WRAP = "model = DDP(model)"


def script(read: str = READ, loader: str = LOADER, wrap: str = WRAP, looped: str = "loader") -> str:
    return SCRIPT.format(read=read, loader=loader, wrap=wrap, looped=looped)


@pytest.mark.parametrize(
    ("text", "is_reported"),
    [
        (script(), True),
        (script(wrap="model = torch.nn.DataParallel(model)"), True),
        (script(wrap="if args.gpus > 1:\n        model = torch.nn.DataParallel(model)"), True),
        (script(looped='enumerate(tqdm(loader, desc="train"))'), True),
        (script(wrap=f"{WRAP}\n    batches = tqdm(loader)", looped="batches"), True),
        (script(loader=LOADER.replace("collate_fn=collate", "collate_fn=lambda rows: model.align(rows)")), True),
        # It takes the model out of the wrapper, has kept the bare one, or reads what the wrapper has.
        (script(read="return model.module.align(rows)"), False),
        (script(wrap=f"bare = model\n    {WRAP}", read="return bare.align(rows)"), False),
        (script(read="model.eval()\n        return rows"), False),
        # It asks for what decides about the wrapper.
        (
            script(
                wrap=f"if args.gpus > 1:\n        {WRAP}",
                read="if args.gpus > 1:\n            return model.module.align(rows)\n        return model.align(rows)",
            ),
            False,
        ),
        # No wrapper, another collator, another loader, or a loop over something else.
        (script(wrap="pass"), False),
        (script(loader=LOADER.replace("=collate", "=plain")), False),
        (script(loader=LOADER.replace("DataLoader", "Loader")), False),
        (script(looped="DataLoader(data)"), False),
    ],
)
def test_a_collator_runs_when_its_loader_is_looped_over(text, is_reported):
    findings = SNIPPETS.findings(text)
    assert [each.message.split("`")[1] for each in findings] == [".align"] * is_reported


def test_what_a_collator_changes_stays_with_the_workers():
    """The name that it binds outside is another one in the process that trains."""
    read = "nonlocal model\n        model = rows\n        return rows"
    text = script(read=read).replace("loss = model(batch)", "loss = model.align(batch)")
    assert [each.message.split("`")[1] for each in SNIPPETS.findings(text)] == [".align"]
