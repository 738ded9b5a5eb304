"""Trains with trl's ORPOTrainer, on pairs."""

import shared
import tiny

try:
    from trl.experimental.orpo import ORPOConfig, ORPOTrainer
except ImportError:
    from trl import ORPOConfig, ORPOTrainer

chosen = shared.options()
trainer = ORPOTrainer(
    model=tiny.tiny_model(),
    args=ORPOConfig(**shared.arguments(chosen)),
    train_dataset=shared.pairs(chosen),
    processing_class=tiny.tiny_tokenizer(),
)
shared.train(trainer, chosen)
