# A loop evaluates if a function that it calls has gradients off, in a file that trains nothing; `step` is a number.
import torch
import torch.distributed as dist
from mine import network, rows
from torch.utils.data import DataLoader, DistributedSampler


class Scorer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = network()

    @torch.no_grad()
    def forward(self, questions):
        return self.layers(questions)


@torch.inference_mode()
def answered(model, questions):
    return model(questions).argmax(-1)


def evaluate(model, loader):
    hits = seen = 0
    for step, (questions, references) in enumerate(loader):
        hits += (answered(model, questions) == references).sum().item()
        seen += len(references)
        if step % 10 == 0 and dist.get_rank() == 0:
            print(f"{step} of {len(loader)}")
    if dist.get_rank() == 0:
        print(f"accuracy {hits / seen:.3f}")  # expect: TRL003


def evaluate_all(model, loader):
    hits = seen = 0
    for questions, references in loader:
        hits += (answered(model, questions) == references).sum().item()
        seen += len(references)
    total = torch.tensor([hits, seen], device="cuda")
    dist.all_reduce(total)
    if dist.get_rank() == 0:
        print(f"accuracy {(total[0] / total[1]).item():.3f}")


def score(loader):
    scorer = Scorer()
    scores = []
    for questions, _ in loader:
        scores.append(scorer(questions).mean().item())
    if dist.get_rank() == 0:
        print(f"score {sum(scores) / len(scores):.3f}")  # expect: TRL003


dist.init_process_group("nccl")
loader = DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False))
evaluate(network(), loader)
evaluate_all(network(), loader)
score(loader)
