"""A forward past the wrapper, in a function of its own, where a test decides between two ways to compute the loss."""

import torch
from somewhere import build, close, rows
from torch.nn.parallel import DistributedDataParallel


def main(args):
    model = build(args).cuda()
    if not args.alone:
        model = DistributedDataParallel(model, device_ids=[args.gpu])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    in_one_branch(model, optimizer, args.scaler, args.ratio)
    with_the_wrapper(model, optimizer, args.scaler)


def in_one_branch(model, optimizer, scaler, ratio):
    model.train()
    for batch in rows():
        if scaler is None:
            features, logits = model.module(batch)  # expect: TRL009
            loss = close(features, batch).mean()
            other = close(logits, batch).mean()
        else:
            with torch.autocast("cuda"):
                features, logits = model(batch)
                loss = close(features, batch).mean()
                other = close(logits, batch).mean()
        loss = loss + other * ratio
        loss.backward()
        optimizer.step()


def with_the_wrapper(model, optimizer, scaler):
    model.train()
    for batch in rows():
        if scaler is None:
            features = model.module(batch)
            loss = close(features, model(batch))
        else:
            loss = model(batch).mean()
        loss.backward()
        optimizer.step()
