"""Clause 10: showing a value to a person changes nothing about it."""

import logging
import warnings

from tqdm import tqdm
from transformers import Trainer

logger = logging.getLogger(__name__)


class Shown(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = model(**inputs).loss
        reveal_rank(print(loss))  # revealed: same
        logger.info(f"{loss:.3f}")
        reveal_rank(loss)  # revealed: local(data)
        warnings.warn(f"{loss}")
        reveal_rank(loss)  # revealed: local(data)
        for batch in tqdm(self.get_train_dataloader()):
            reveal_rank(batch["x"])  # revealed: shard
        progress = tqdm(self.get_train_dataloader(), desc="eval")
        for batch in progress:
            progress.set_postfix(loss=loss)
            reveal_rank(batch["x"])  # revealed: shard
        return loss
