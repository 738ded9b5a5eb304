"""Character level language model with a GRU; losses and confidence go to a CSV file through an Accelerate tracker."""

import argparse
import csv

import torch
from accelerate import Accelerator
from accelerate.tracking import GeneralTracker, on_main_process
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

TEXT = """
The ferry left the island at six, before the bakery had opened, and the harbour smelt of rope and wet wood. On deck
three men were playing cards under a lamp, and a woman with a basket of lemons told anyone who would listen that the
weather was going to turn. By noon the far coast had come into sight, low and grey, and nobody spoke of the weather.
"""


class CSVTracker(GeneralTracker):
    name = "csv"
    requires_logging_directory = False

    @on_main_process
    def __init__(self, path):
        super().__init__()
        self.file = open(path, "w", newline="")  # noqa: SIM115
        self.writer = csv.writer(self.file)

    @property
    def tracker(self):
        return self.writer

    @on_main_process
    def store_init_configuration(self, values):
        self.writer.writerow(["config", *[f"{key}={value}" for key, value in values.items()]])

    @on_main_process
    def log(self, values, step=None, **kwargs):
        self.writer.writerow([step, *values.values()])

    @on_main_process
    def finish(self):
        self.file.close()


class CharModel(nn.Module):
    def __init__(self, vocab_size, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, hidden)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.dropout = nn.Dropout(0.1)
        self.head = nn.Linear(hidden, vocab_size)

    def forward(self, ids):
        states, _ = self.rnn(self.embedding(ids))
        return self.head(self.dropout(states))


def build_blocks(block_size):
    alphabet = sorted(set(TEXT))
    ids = torch.tensor([alphabet.index(c) for c in TEXT])
    blocks = ids.unfold(0, block_size + 1, 6)
    return TensorDataset(blocks[:, :-1].contiguous(), blocks[:, 1:].contiguous()), len(alphabet)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log_file", default="char_model.csv")
    parser.add_argument("--block_size", type=int, default=24)
    parser.add_argument("--batch_size", type=int, default=8)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()

    set_seed(99)
    accelerator = Accelerator(log_with=CSVTracker(args.log_file))
    accelerator.init_trackers("char-model", config=vars(args))

    dataset, vocab_size = build_blocks(args.block_size)
    model = CharModel(vocab_size, args.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True, drop_last=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)

    step = 0
    for _ in range(args.epochs):
        for ids, targets in loader:
            logits = model(ids)
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            step += 1

            confidence = logits.detach().softmax(dim=-1).amax(dim=-1)
            train_loss = accelerator.gather(loss.detach()).mean().item()
            accelerator.log({"train/loss": train_loss, "train/confidence": confidence.mean().item()}, step=step)
    accelerator.end_training()


if __name__ == "__main__":
    main()
