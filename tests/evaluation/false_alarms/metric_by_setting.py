# Settings select the entry that is read: one rank-local entry does not make all of them rank-local.
from accelerate import Accelerator


def evaluate(accelerator, model, loader):
    loss, right, seen = 0.0, 0, 0
    for batch in loader:
        outputs = model(**batch)
        loss += outputs.loss.item()
        hits = accelerator.gather_for_metrics(outputs.logits.argmax(-1) == batch["labels"])
        right += hits.sum().item()
        seen += hits.numel()
    return {"loss": loss / len(loader), "accuracy": right / seen}


def main(args, model, optimizer, loader):
    accelerator = Accelerator(log_with="wandb")
    accelerator.init_trackers("run")
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    results = evaluate(accelerator, model, loader)
    accelerator.log({"score": results[args.metric]})
    if results[args.metric] > 0.9:
        accelerator.wait_for_everyone()
    for name in results:
        accelerator.log({name: results[name]})  # expect: TRL003
    if results["loss"] > 2:
        accelerator.wait_for_everyone()  # expect: TRL006
