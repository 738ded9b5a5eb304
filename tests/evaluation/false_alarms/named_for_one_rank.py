# A metric whose name says which rank it is of says nothing about the others.
from accelerate import Accelerator


def named(loader, model, optimizer):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(**batch).loss
        found = {"loss": loss.item(), "gap": (loss - batch["x"].mean()).item()}
        accelerator.log({"rank0/gap": found["gap"], "rank_0/loss": found["loss"], "gpu1/loss": loss.item()})
        accelerator.log({"gap": found["gap"]})  # expect: TRL003


def scoped(loader, model, optimizer, everywhere):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        gap = (model(**batch).loss - batch["x"].mean()).item()
        scope = "global/" if everywhere else "rank0/"
        accelerator.log({"rank0/gap": gap, f"{scope}accuracy": gap})


def prefixed(loader, model, optimizer, mode):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        gap = (model(**batch).loss - batch["x"].mean()).item()
        accelerator.log({f"{mode}/accuracy": gap})  # expect: TRL003


def of_one_device(loader, model, optimizer):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        tokens = batch["x"].sum().item()
        accelerator.log({"tokens_per_device": tokens})
        accelerator.log({"tokens_per_sequence": tokens})  # expect: TRL003
