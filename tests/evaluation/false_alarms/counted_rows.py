# A rank's count times the number of processes is the count of all of them.
from accelerate import Accelerator


def train(model, optimizer, loader, dataset):
    accelerator = Accelerator(log_with="wandb")
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    seen = 0
    for batch in loader:
        seen += len(batch["input_ids"]) * accelerator.num_processes
        loss = model(**batch).loss
        accelerator.backward(loss)
        accelerator.log({"epoch": seen / len(dataset)})
        accelerator.log({"loss": loss.item()})  # expect: TRL003
