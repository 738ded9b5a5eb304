"""`nonlocal` and `global`: an inner function assigns an outer name; and defaults, which read names around it."""

from accelerate import Accelerator
from transformers import Trainer

counter = 0.0
rounds = begun = 0


class Scopes(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = model(**inputs).loss
        scale = loss.detach()

        def changed():
            nonlocal scale
            scale = 1.0

        changed()
        reveal_rank(scale)  # revealed: same
        kept = 1.0

        def spoiled():
            nonlocal kept
            kept = loss

        spoiled()
        reveal_rank(kept)  # revealed: local(data)
        self.count(loss)
        reveal_rank(counter)  # revealed: local(data)
        return loss

    def count(self, value):
        global counter
        counter = counter + value


def defaults_of_nested_functions(accelerator: Accelerator):
    mine = accelerator.process_index

    def reads(number=mine, name=f"{mine}.pt"):
        reveal_rank(number)  # revealed: local(rank)
        reveal_rank(name)  # revealed: local(rank)

    reads()


def assigns_and_reads(accelerator: Accelerator):
    global rounds, begun
    begun = accelerator.num_processes
    rounds = accelerator.num_processes
    reveal_rank(begun)  # revealed: unknown
    reveal_rank(rounds)  # revealed: same
    for _ in range(4):
        reveal_rank(rounds)  # revealed: local(rank)
        rounds = rounds + accelerator.process_index
    reveal_rank(rounds)  # revealed: local(rank)


def begins():
    global begun
    begun = 1
