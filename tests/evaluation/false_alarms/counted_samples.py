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
