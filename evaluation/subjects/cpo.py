"""Trains with trl's CPOTrainer, on pairs."""

import shared
import tiny

try:
    from trl.experimental.cpo import CPOConfig, CPOTrainer
except ImportError:
    from trl import CPOConfig, CPOTrainer

chosen = shared.options()
trainer = CPOTrainer(
    model=tiny.tiny_model(),
    args=CPOConfig(**shared.arguments(chosen)),
    train_dataset=shared.pairs(chosen),
    processing_class=tiny.tiny_tokenizer(),
)
shared.train(trainer, chosen)
