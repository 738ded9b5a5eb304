# `clip_grad_norm_` returns a tensor, which may be gathered as it is.
from accelerate import Accelerator


def train(model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    norms = []
    for batch in loader:
        accelerator.backward(model(**batch).loss)
        norm = accelerator.clip_grad_norm_(model.parameters(), 1.0)
        accelerator.print(accelerator.gather(norm).mean())
        norms.append(accelerator.clip_grad_norm_(model.parameters(), max_norm=0.5))
        accelerator.print(accelerator.reduce(norms[-1], reduction="mean"))
        accelerator.print(accelerator.gather(norm.item()))  # expect: TRL001
        optimizer.step()
