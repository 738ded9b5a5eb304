"""The base class, with the arguments of the methods that others override."""

from collections import defaultdict

from transformers import Trainer

from .helpers import local_mean


class Base(Trainer):
    def __init__(self, model, args, beta=0.1):
        super().__init__(model, args)
        self.beta = beta
        self.kept = 0.0
        self._metrics = defaultdict(list)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss, metrics = self.loss_and_metrics(model, inputs)
        reveal_rank(metrics["same"])  # revealed: same
        reveal_rank(metrics["local"])  # revealed: local(data)
        self.note(metrics)
        self.kept = loss
        return loss

    def loss_and_metrics(self, model, inputs):
        loss = model(**inputs).loss
        return loss, {"local": loss, "same": 1.0}

    def note(self, metrics):
        for key, value in metrics.items():
            self._metrics[key].append(value)

    def mean(self, value):
        return local_mean(value)
