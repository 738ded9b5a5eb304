# A rollout has nine tensors or more, and its rows are picked by the names of its fields.
from dataclasses import dataclass, fields

import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


@dataclass
class Rollout:
    query: torch.Tensor
    response: torch.Tensor
    old: torch.Tensor
    reference: torch.Tensor
    values: torch.Tensor
    rewards: torch.Tensor
    mask: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor
    temperature: float = 1.0

    def __getitem__(self, rows):
        return Rollout(**{f.name: getattr(self, f.name)[rows] for f in fields(self)})


def collect(model, batch):
    with torch.no_grad():
        old = model(batch["input_ids"])
    ids = batch["input_ids"]
    return Rollout(ids, ids, old, old, old, old, batch["attention_mask"], old, old)


def main(model, data):
    accelerator = Accelerator(log_with="wandb")
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, loader = accelerator.prepare(model, optimizer, DataLoader(data, batch_size=8))
    for batch in loader:
        rollout = collect(model, batch)
        for rows in torch.randperm(len(batch["input_ids"])).split(4):
            part = rollout[rows]
            error = (model(part.query) - part.returns).square().mean()
            accelerator.backward(error)
            optimizer.step()
            kl = (part.old - part.reference).mean()
        accelerator.log({"kl": kl.item()})  # expect: TRL003
        accelerator.log({"mean_kl": accelerator.gather(kl).mean().item(), "temperature": rollout.temperature})


main(torch.nn.Linear(3, 3), torch.rand(8, 3))
