# A loop that goes on with the next batch after an error runs the model all the same, as a rule: each rank that stops by
# its own loss leaves the others in it. What asks for something by an error may leave out the model on all ranks.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def by_hand(model, loader, optimizer):
    batches = iter(loader)
    for _ in range(len(loader)):
        try:
            batch = next(batches)
        except StopIteration:
            break
        except Exception as error:
            print(error)
            continue
        if batch is None:
            continue
        model(batch).sum().backward()
        optimizer.step()


def with_an_option(model, loader, optimizer, options):
    try:
        weight = options["weight"]
    except KeyError:
        return
    for batch in loader:
        (weight * model(batch).sum()).backward()
        optimizer.step()


def validate(model, loader):
    total = 0.0
    with torch.no_grad():
        for batch in loader:
            total += model.module(batch).sum().item()
    return total / len(loader)


def main(model, data, rows, options):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(data, sampler=DistributedSampler(data))
    others = DataLoader(rows, sampler=DistributedSampler(rows))
    counter, best = 0, 1e9
    for epoch in range(100):
        loader.sampler.set_epoch(epoch)
        by_hand(model, loader, optimizer)
        loss = validate(model, others)
        counter = 0 if loss < best else counter + 1
        best = min(best, loss)
        if counter > 5:
            break  # expect: TRL006
    for epoch in range(100):
        loader.sampler.set_epoch(epoch)
        with_an_option(model, loader, optimizer, options)
        if validate(model, others) < 0.1:
            break


if __name__ == "__main__":
    main(torch.nn.Linear(2, 2), [], [], {})
