"""Trains with trl's KTOTrainer, on completions that are good or bad."""

import shared
import tiny
from datasets import Dataset
from trl import KTOConfig, KTOTrainer


def judged(chosen) -> Dataset:
    """One side of each pair: the preferred one and the other one in turn."""
    rows = [
        {"prompt": row["prompt"], "completion": row["rejected" if index % 2 else "chosen"], "label": not index % 2}
        for index, row in enumerate(shared.pairs(chosen))
    ]
    return Dataset.from_list(rows)


chosen = shared.options()
trainer = KTOTrainer(
    model=tiny.tiny_model(),
    ref_model=tiny.tiny_model(),
    args=KTOConfig(**shared.arguments(chosen)),
    train_dataset=judged(chosen),
    processing_class=tiny.tiny_tokenizer(),
)
shared.train(trainer, chosen)
