"""Clause 6: an attribute is the join of its assignments; what `__init__` gets is the same on all ranks."""

from transformers import Trainer


class Base(Trainer):
    kind = "base"

    def __init__(self, model, args, beta=0.1, **kwargs):
        super().__init__(model, args, **kwargs)
        self.beta = beta
        self.scale = args.scale * 2
        self.is_encoder_decoder = model.config.is_encoder_decoder
        self.eos = getattr(model.config, "eos_token_id", 0)
        self.total = 0.0
        self.reduced = 0.0
        self.steps = 0
        self.table = {"same": 0.0}
        self.mixed = 0.0

    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = super().training_step(model, inputs, num_items_in_batch)
        reveal_rank(self.beta)  # revealed: same
        reveal_rank(self.scale)  # revealed: same
        reveal_rank(self.is_encoder_decoder)  # revealed: same
        reveal_rank(self.eos)  # revealed: same
        reveal_rank(self.kind)  # revealed: same
        reveal_rank(self.args.learning_rate)  # revealed: same
        reveal_rank(self.state.global_step)  # revealed: same
        self.total += loss
        reveal_rank(self.total)  # revealed: local(data)
        self.reduced = self.accelerator.gather(loss).mean()
        self.steps += 1
        reveal_rank(self.steps)  # revealed: same
        self.table["local"] = loss
        self.last = loss
        if self.args.flag:
            self.mixed = something_unknown(loss)
        self.parts = {"loss": loss, "same": 1.0}
        return loss

    def report(self):
        reveal_rank(self.total)  # revealed: local(data)
        reveal_rank(self.reduced)  # revealed: same
        reveal_rank(self.table["local"])  # revealed: local(data)
        reveal_rank(self.table["same"])  # revealed: same
        reveal_rank(self.last)  # revealed: local(data)
        reveal_rank(self.mixed)  # revealed: unknown
        reveal_rank(self.parts["loss"])  # revealed: local(data)
        reveal_rank(self.parts["same"])  # revealed: same
        reveal_rank(self.mean_total)  # revealed: local(data)
        reveal_rank(self.twice_beta)  # revealed: same
        reveal_rank(self.out_of_sight)  # revealed: unknown

    @property
    def mean_total(self):
        return self.total / self.steps

    @property
    def twice_beta(self):
        return self.beta * 2


class Derived(Base):
    """The assignments of its known base count too, and its own join them."""

    def __init__(self, model, args, gamma=1.0):
        super().__init__(model, args)
        self.gamma = gamma
        self.beta_own = self.beta
        self.scale = 3.0

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        self.reduced = loss
        reveal_rank(self.gamma)  # revealed: same
        reveal_rank(self.beta)  # revealed: same
        reveal_rank(self.beta_own)  # revealed: same
        reveal_rank(self.scale)  # revealed: same
        reveal_rank(self.total)  # revealed: local(data)
        return loss

    def show(self):
        reveal_rank(self.reduced)  # revealed: local(data)
        reveal_rank(self.last)  # revealed: local(data)


class Counts(Trainer):
    """A class that only adds to an attribute has the first value from an unknown base, or from code outside."""

    many = 0

    def __init__(self, model, args):
        super().__init__(model, args)
        self.own = 0

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = model(**inputs).loss
        self.turn += 1
        self.many += 1
        self.own += 1
        self.seen += loss
        reveal_rank(self.turn)  # revealed: unknown
        reveal_rank(self.many)  # revealed: same
        reveal_rank(self.own)  # revealed: same
        reveal_rank(self.seen)  # revealed: local(data)
        if self.turn % 2 == 0:
            reveal_rank(loss)  # revealed: local(data)
        reveal_rank(loss / self.turn)  # revealed: local(data)
        return loss
