# A dictionary is keyed by this rank's own samples: a file for each key is written by one process.
import json

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


class Results:
    def update(self, predictions):
        for sample, scores in predictions.items():
            with open(f"{sample}.json", "w") as file:
                json.dump(scores.tolist(), file)


def main(model, rows):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    model = DistributedDataParallel(model.cuda())
    results = Results()
    found = {}
    for batch in DataLoader(rows, 2, sampler=DistributedSampler(rows)):
        outputs = model(batch["pixels"])
        results.update({sample.item(): scores for sample, scores in zip(batch["id"], outputs, strict=False)})
        for sample, scores in zip(batch["id"], outputs, strict=False):
            found[sample.item()] = scores
    for sample, scores in found.items():
        torch.save(scores, f"{sample}.pt")
    means = {}
    for split in ("easy", "hard"):
        means[split + str(len(rows))] = torch.zeros(1)
    for split, mean in means.items():
        torch.save(mean, f"{split}.pt")  # expect: TRL008
    for split in dict.fromkeys(rows.column_names):
        torch.save(model.state_dict(), f"{split}.pt")  # expect: TRL008


if __name__ == "__main__":
    from datasets import load_dataset

    main(torch.nn.Linear(2, 2), load_dataset("rows", split="train"))
