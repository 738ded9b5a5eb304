# What the forward of a model does not read has no part in its output.
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from torch import nn


class Weights(nn.Module):
    def __init__(self, experts):
        super().__init__()
        self.scores = nn.Linear(1, experts, bias=False)

    def forward(self, given=None, mask=None):
        scores = self.scores(torch.ones(1, 1))
        if mask is not None:
            scores = scores + mask
        return F.softmax(scores, dim=-1)


class WeightsOfRows(nn.Module):
    def __init__(self, experts):
        super().__init__()
        self.scores = nn.Linear(4, experts, bias=False)

    def forward(self, given=None, mask=None):
        return F.softmax(self.scores(given), dim=-1)


def train(args, net, rows, optimizer):
    accelerator = Accelerator(log_with="wandb")
    plain, of_rows = Weights(args.experts), WeightsOfRows(args.experts)
    net, plain, of_rows, rows, optimizer = accelerator.prepare(net, plain, of_rows, rows, optimizer)
    for step, batch in enumerate(rows):
        shares = plain(batch, mask=None)
        masked = plain(given=None, mask=batch)
        shares_of_rows = of_rows(given=batch)
        accelerator.backward(net(batch, shares, masked, shares_of_rows).mean())
        optimizer.step()
        accelerator.log({"share": float(shares[0, 0])}, step)
        accelerator.log({"masked": float(masked[0, 0])}, step)  # expect: TRL003
        accelerator.log({"of_rows": float(shares_of_rows[0, 0])}, step)  # expect: TRL003
