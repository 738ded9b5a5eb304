"""Evaluates with trl's ORPOTrainer and logs a table of what is generated, with a stand-in for Weights & Biases."""

import shared
import trackers
from shared import tiny
from trl.experimental.orpo import ORPOConfig, ORPOTrainer

chosen = shared.options()
trainer = ORPOTrainer(
    model=tiny.tiny_model(),
    args=ORPOConfig(**shared.arguments(chosen) | trackers.TABLE),
    train_dataset=shared.pairs(chosen),
    eval_dataset=shared.pairs(chosen),
    processing_class=tiny.tiny_tokenizer(),
)
trainer.train()
