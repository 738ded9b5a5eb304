# A rank that skips a batch makes up for it if the loop ends after a number of finished steps, and nothing else meets.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def by_steps(model, optimizer, loader, steps):
    step = 0
    while step < steps:
        for batch in loader:
            mask = batch["depth"].cuda() > 0
            if not mask.any():
                continue
            loss = model(batch["image"].cuda())[mask].mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 100 == 0:
                dist.barrier()
            if step >= steps:
                return


def until_told(model, optimizer, loader, steps):
    step, goes_on = 0, True
    while goes_on:
        for batch in loader:
            mask = batch["depth"].cuda() > 0
            if not mask.any():
                continue
            model(batch["image"].cuda())[mask].mean().backward()
            optimizer.step()
            step += 1
            if step > steps:
                goes_on = False
                break


class Progress:
    def __init__(self):
        self.batches = self.steps = 0

    def start_step(self):
        self.batches += 1

    def finish_step(self):
        self.steps += 1


class ProgressOfRows:
    def __init__(self):
        self.rows = 0

    def finish_step(self, rows):
        self.rows += rows


class ProgressStartedOver(Progress):
    def start_over(self):
        self.steps = 0


def by_steps_of_an_object(model, optimizer, loader, steps):
    progress = Progress()
    while progress.steps < steps:
        for batch in loader:
            mask = batch["depth"].cuda() > 0
            if not mask.any():
                continue
            model(batch["image"].cuda())[mask].mean().backward()
            optimizer.step()
            progress.finish_step()
            if progress.steps >= steps:
                break


def by_batches_of_an_object(model, optimizer, loader, steps):
    progress = Progress()
    while progress.batches < steps:
        for batch in loader:
            progress.start_step()
            mask = batch["depth"].cuda() > 0
            if not mask.any():
                continue  # expect: TRL006
            model(batch["image"].cuda())[mask].mean().backward()
            optimizer.step()
            progress.finish_step()


def by_rows_of_an_object(model, optimizer, loader, rows):
    progress = ProgressOfRows()
    while progress.rows < rows:
        for batch in loader:
            mask = batch["depth"].cuda() > 0
            if not mask.any():
                continue  # expect: TRL006
            model(batch["image"].cuda())[mask].mean().backward()
            optimizer.step()
            progress.finish_step(int(mask.sum()))


def started_over(model, optimizer, loader, steps):
    progress = ProgressStartedOver()
    while progress.steps < steps:
        for batch in loader:
            mask = batch["depth"].cuda() > 0
            if not mask.any():
                continue  # expect: TRL006
            model(batch["image"].cuda())[mask].mean().backward()
            optimizer.step()
            progress.finish_step()
        progress.start_over()


def by_batches(model, optimizer, loader, steps):
    step = 0
    while step < steps:
        for batch in loader:
            step += 1
            mask = batch["depth"].cuda() > 0
            if not mask.any():
                continue  # expect: TRL006
            model(batch["image"].cuda())[mask].mean().backward()
            optimizer.step()


def by_epochs(model, optimizer, loader, epochs):
    step = 0
    for _ in range(epochs):
        for batch in loader:
            mask = batch["depth"].cuda() > 0
            if not mask.any():
                continue  # expect: TRL006
            model(batch["image"].cuda())[mask].mean().backward()
            optimizer.step()
            step += 1


def meets_in_each_epoch(model, optimizer, loader, steps):
    step = 0
    while step < steps:
        for batch in loader:
            mask = batch["depth"].cuda() > 0
            if not mask.any():
                continue  # expect: TRL006
            model(batch["image"].cuda())[mask].mean().backward()
            optimizer.step()
            step += 1
        dist.barrier()


def meets_at_some_batches(model, optimizer, loader, steps):
    step = 0
    while step < steps:
        for number, batch in enumerate(loader):
            mask = batch["depth"].cuda() > 0
            if not mask.any():
                continue  # expect: TRL006
            model(batch["image"].cuda())[mask].mean().backward()
            optimizer.step()
            step += 1
            if number % 10 == 0:
                dist.barrier()


def ends_with_the_epochs(model, optimizer, loader, steps, epochs):
    step, epoch = 0, 0
    while step < steps:
        for batch in loader:
            mask = batch["depth"].cuda() > 0
            if not mask.any():
                continue  # expect: TRL006
            model(batch["image"].cuda())[mask].mean().backward()
            optimizer.step()
            step += 1
        epoch += 1
        if epoch == epochs:
            break


def after_the_forward(model, optimizer, loader, epochs):
    for _ in range(epochs):
        for batch in loader:
            loss = model(batch["image"].cuda()).mean()
            if torch.isnan(loss):
                continue  # expect: TRL006
            loss.backward()
            optimizer.step()


def main(model, data, kind, steps):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    model = DistributedDataParallel(model.cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data, shuffle=False))
    if kind == "told":
        until_told(model, optimizer, loader, steps)
    elif kind == "object":
        by_steps_of_an_object(model, optimizer, loader, steps)
    elif kind == "batches of an object":
        by_batches_of_an_object(model, optimizer, loader, steps)
    elif kind == "rows of an object":
        by_rows_of_an_object(model, optimizer, loader, steps)
    elif kind == "started over":
        started_over(model, optimizer, loader, steps)
    elif kind == "batches":
        by_batches(model, optimizer, loader, steps)
    elif kind == "epochs":
        by_epochs(model, optimizer, loader, 3)
    elif kind == "each":
        meets_in_each_epoch(model, optimizer, loader, steps)
    elif kind == "some":
        meets_at_some_batches(model, optimizer, loader, steps)
    elif kind == "ends":
        ends_with_the_epochs(model, optimizer, loader, steps, 3)
    elif kind == "after":
        after_the_forward(model, optimizer, loader, 3)
    else:
        by_steps(model, optimizer, loader, steps)
