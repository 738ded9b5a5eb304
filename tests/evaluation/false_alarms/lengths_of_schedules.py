# A length from the loader before it is prepared counts the batches of all processes; a setting for the loop does not.

from accelerate import Accelerator
from somewhere import made, options
from torch.optim.lr_scheduler import OneCycleLR
from transformers import get_scheduler


def train(args, model, optimizer, loader):
    accelerator = Accelerator(gradient_accumulation_steps=args.accumulation)
    updates = len(loader) // args.accumulation
    total = args.epochs * updates
    schedule = get_scheduler("linear", optimizer, num_warmup_steps=0, num_training_steps=total)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    done = 0
    for _ in range(args.epochs):
        for batch in loader:
            with accelerator.accumulate(model):
                accelerator.backward(model(**batch).loss)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                done += 1
            if done >= total:
                break


def train_steps(args, model, optimizer, loader):
    accelerator = Accelerator(gradient_accumulation_steps=args.accumulation)
    total = args.max_steps
    schedule = get_scheduler("linear", optimizer, num_warmup_steps=0, num_training_steps=total)  # expect: TRL020
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    done = 0
    for batch in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            done += 1
        if done >= total:
            break


class Training:
    def __init__(self, args, model, optimizer, loader):
        self.args = args
        self.accelerator = Accelerator()
        self.steps = args.max_steps * self.accelerator.num_processes
        schedule = OneCycleLR(optimizer, max_lr=0.1, total_steps=self.steps)
        prepared = self.accelerator.prepare(model, optimizer, loader, schedule)
        self.model, self.optimizer, self.loader, self.schedule = prepared

    def fit(self):
        self.done = 0
        for batch in self.loader:
            self.accelerator.backward(self.model(**batch).loss)
            self.optimizer.step()
            self.schedule.step()
            self.done += 1
            if self.done >= self.args.max_steps:
                break


if __name__ == "__main__":
    train(options(), *made())
    train_steps(options(), *made())
    Training(options(), *made()).fit()
