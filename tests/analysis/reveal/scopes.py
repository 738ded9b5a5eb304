"""`nonlocal` and `global`: an inner function assigns an outer name; and defaults, which read names around it."""

from accelerate import Accelerator
from transformers import Trainer

counter = 0.0


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
