"""A model that is put into evaluation mode and then frozen has nothing to train: `prepare` does not wrap it."""

from accelerate import Accelerator
from torch.utils.data import DataLoader
from transformers import AutoModel


def frozen():
    encoder = AutoModel.from_pretrained("encoder")
    encoder.eval()
    encoder.requires_grad_(False)
    return encoder


def evaluated():
    teacher = AutoModel.from_pretrained("teacher")
    teacher.eval()
    return teacher


def main(rows, net, optimizer):
    accelerator = Accelerator()
    encoder, teacher = frozen(), evaluated()
    model, encoder, teacher, optimizer, loader = accelerator.prepare(net, encoder, teacher, optimizer, DataLoader(rows))
    for batch in loader:
        hidden = encoder.embeddings(batch["ids"])
        target = teacher.embeddings(batch["ids"])  # expect: TRL002
        loss = (model(hidden) - target).mean()
        accelerator.backward(loss)
        optimizer.step()


if __name__ == "__main__":
    main([], None, None)
