"""Evaluates with trl's CPOTrainer and logs a table of what is generated, with a stand-in for Weights & Biases."""

import shared
import trackers
from shared import tiny
from trl.experimental.cpo import CPOConfig, CPOTrainer

chosen = shared.options()
trainer = CPOTrainer(
    model=tiny.tiny_model(),
    args=CPOConfig(**shared.arguments(chosen) | trackers.TABLE),
    train_dataset=shared.pairs(chosen),
    eval_dataset=shared.pairs(chosen),
    processing_class=tiny.tiny_tokenizer(),
)
trainer.train()
