# A metric that comes to the log in a dict is not reduced because one beside it is.
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


def scores_of(accelerator, model, loader):
    losses, hits = [], []
    with torch.no_grad():
        for batch in loader:
            output = model(**batch)
            losses.append(output.loss.reshape(1))
            hits.append(accelerator.gather_for_metrics(output.logits.argmax(-1) == batch["labels"]))
    return {  # expect: TRL003
        "accuracy": torch.cat(hits).float().mean().item(),
        "loss": torch.cat(losses).mean().item(),
    }


def gathered_scores_of(accelerator, model, loader):
    losses = []
    with torch.no_grad():
        for batch in loader:
            losses.append(accelerator.gather(model(**batch).loss))
    return {"loss": torch.cat(losses).mean().item()}


def main(net, rows):
    accelerator = Accelerator(log_with="wandb")
    accelerator.init_trackers("scores")
    optimizer = torch.optim.AdamW(net.parameters())
    model, optimizer, loader = accelerator.prepare(net, optimizer, DataLoader(rows, batch_size=8, shuffle=True))
    others = accelerator.prepare(DataLoader(rows, batch_size=8))
    for epoch in range(3):
        total = torch.zeros((), device=accelerator.device)
        for batch in loader:
            loss = model(**batch).loss
            total += loss.detach()
            accelerator.backward(loss)
            optimizer.step()
        train_loss = accelerator.reduce(total, reduction="mean").item() / len(loader)
        scores = scores_of(accelerator, model, others)
        accelerator.log({**scores, "train_loss": train_loss}, step=epoch)
        gathered = gathered_scores_of(accelerator, model, others)
        accelerator.log({**gathered, "train_loss": train_loss}, step=epoch)


main(make_net(), make_rows())
