# Values that each process logs to its own run of a group are neither a metric of one rank nor logged twice.
import wandb
from accelerate import Accelerator


def each_has_its_own(loader, model, optimizer, stamp):
    accelerator = Accelerator()
    wandb.init(project="tiny", group=stamp)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(**batch).loss
        wandb.log({"gap": (loss - batch["x"].mean()).item()})
        accelerator.log({"gap": (loss - batch["x"].mean()).item()})  # expect: TRL003
