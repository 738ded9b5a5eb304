"""Trains with trl's TPOTrainer, on pairs with a third answer, which is the best."""

import shared
import tiny
from trl.experimental.tpo import TPOConfig, TPOTrainer

chosen = shared.options()
dataset = shared.pairs(chosen)
answers = [" " + tiny.sentence(index + 3, 4) for index in range(len(dataset))]
trainer = TPOTrainer(
    model=tiny.tiny_model(),
    args=TPOConfig(**shared.arguments(chosen)),
    train_dataset=dataset.add_column("reference", answers),
    processing_class=tiny.tiny_tokenizer(),
)
shared.train(trainer, chosen)
