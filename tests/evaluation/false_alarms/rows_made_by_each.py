# The neighbour of `rows_of_all.py`: each rank trains on what it has made itself.
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader


class Samples:
    def __init__(self):
        self.samples = []

    def keep(self, sample):
        self.samples.append(sample)

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        return self.samples[index]


def main(model, prompts, epochs):
    accelerator = Accelerator()
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, prompts = accelerator.prepare(model, optimizer, DataLoader(prompts, batch_size=8))
    for _ in range(epochs):
        samples = Samples()
        for prompt in prompts:
            samples.keep(accelerator.unwrap_model(model).generate(**prompt))
        for batch in DataLoader(samples, batch_size=4, shuffle=True):
            accelerator.backward(model(batch).loss)
            optimizer.step()
            optimizer.zero_grad()


if __name__ == "__main__":
    main(torch.load("model.pt"), [], 12)
