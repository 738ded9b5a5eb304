"""Trains with trl's DPOTrainer, on pairs."""

import shared
import tiny
from trl import DPOConfig, DPOTrainer

chosen = shared.options()
trainer = DPOTrainer(
    model=tiny.tiny_model(),
    ref_model=tiny.tiny_model(),
    args=DPOConfig(**shared.arguments(chosen)),
    train_dataset=shared.pairs(chosen),
    processing_class=tiny.tiny_tokenizer(),
)
shared.train(trainer, chosen)
