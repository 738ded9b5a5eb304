"""Trains with trl's SFTTrainer, on texts that differ in length, so that the batches of two processes differ in shape.

The loss is the mean over the tokens of all processes: with the same rows per step it is that of one process.
"""

import shared
import tiny
from datasets import Dataset
from trl import SFTConfig, SFTTrainer

SHORTEST, LENGTHS = 8, 53


def texts(size: int) -> Dataset:
    """No two of up to 53 texts have the same length."""
    lengths = [SHORTEST + index * 7 % LENGTHS for index in range(size)]
    return Dataset.from_dict({"text": [tiny.sentence(index, length) for index, length in enumerate(lengths)]})


chosen = shared.options()
trainer = SFTTrainer(
    model=tiny.tiny_model(),
    args=SFTConfig(**shared.arguments(chosen), average_tokens_across_devices=True),
    train_dataset=texts(shared.size(chosen)),
    processing_class=tiny.tiny_tokenizer(),
)
shared.train(trainer, chosen)
