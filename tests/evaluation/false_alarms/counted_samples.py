# A count of this rank times the number of ranks is that of all.
import torch.distributed as dist
import wandb
from torch.utils.data import DataLoader, DistributedSampler
from transformers import Trainer


class Counting(Trainer):
    seen = 0

    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = super().training_step(model, inputs, num_items_in_batch)
        self.seen += inputs["input_ids"].shape[0] * self.args.world_size
        self.log({"samples": self.seen})
        self.log({"own": inputs["input_ids"].float().mean().item()})  # expect: TRL003
        return loss


def train(model, dataset, optimizer):
    loader = DataLoader(dataset, batch_size=4, sampler=DistributedSampler(dataset))
    rows = 0
    for _step, batch in enumerate(loader):
        model(**batch).loss.backward()
        optimizer.step()
        rows += batch["labels"].size(0)
        total = rows * dist.get_world_size()
        if dist.get_rank() == 0:
            wandb.log({"rows": total, "share": total / len(dataset)})


def train_on_tokens(model, dataset, optimizer):
    loader = DataLoader(dataset, batch_size=4, sampler=DistributedSampler(dataset))
    world_size, seen, correct, history = dist.get_world_size(), 0, 0, []
    for step, batch in enumerate(loader):
        logits = model(**batch).logits
        seen += batch["labels"].size(1)
        correct += int((logits.argmax(-1) == batch["labels"]).sum())
        history.append(seen)
        per_step = (int(history[-1]) - int(history[0])) / (step + 1)
        if dist.get_rank() == 0:
            wandb.log({"all_tokens": per_step * world_size * step, "tokens": per_step * step * world_size})
            wandb.log({"tokens_of_one": per_step * step})  # expect: TRL003
            wandb.log({"loss": logits.float().mean().item() / step * world_size})  # expect: TRL003
            wandb.log({"accuracy": correct / seen})  # expect: TRL003


def of_all(model, batch_size, rows):
    batch_size = batch_size * dist.get_world_size()
    rows = rows / 2 * dist.get_world_size()
    model(rows)
    if dist.get_rank() == 0:
        wandb.log({"batch_size": batch_size, "rows": rows})
