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
    train_dataset=tiny.preference_dataset(shared.size(chosen)),
    processing_class=tiny.tiny_tokenizer(),
)
trainer.train()
