"""Clause 10: a logger takes a tensor and does not change it."""

import logging

from accelerate.logging import get_logger
from transformers import Trainer

logger = logging.getLogger(__name__)
main_logger = get_logger(__name__)


class Shown(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = model(**inputs).loss
        logger.info("loss %s", loss)
        reveal_rank(loss)  # revealed: local(data)
        main_logger.info(loss)
        reveal_rank(loss)  # revealed: local(data)
        return loss
