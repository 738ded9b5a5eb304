"""What the subjects share: how long they train, and that two runs are identical.

The model, the tokenizer and the rows are those of the fixtures: tiny, random, built in place.
"""

import argparse
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "fixtures"))
import tiny
from datasets import Dataset
from transformers import Trainer


def options(**own: float) -> argparse.Namespace:
    """The command line. `own`: options that only this program has, with their default values."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2, help="optimizer steps")
    parser.add_argument("--batch", type=int, default=2, help="rows per step and process")
    parser.add_argument("--rows", type=int, help="rows in all (as many as are read once, unless given)")
    parser.add_argument("--rate", type=float, default=1e-3, help="learning rate")
    parser.add_argument("--noise", type=float, default=0.0, help="the part of pairs that say the opposite (DPO)")
    parser.add_argument("--accumulation", type=int, default=1, help="batches per step")
    parser.add_argument("--fill", type=int, default=0, help="rows of all processes in a batch: see `train`")
    parser.add_argument("--alike", type=int, default=0, help="1: all texts are of the same length (pairs)")
    for name, value in own.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    return parser.parse_args()


def arguments(chosen: argparse.Namespace) -> dict:
    """Arguments of the trainer's config."""
    # transformers 4.47 counts tokens for this even if there is nothing to count, and raises: only SFT uses it.
    own = {name: value for name, value in tiny.ARGUMENTS.items() if name != "average_tokens_across_devices"}
    return {
        **own,
        "max_steps": chosen.steps,
        "per_device_train_batch_size": chosen.batch,
        "gradient_accumulation_steps": chosen.accumulation,
        "learning_rate": chosen.rate,
        "gradient_checkpointing": False,
        "bf16": False,
        **({"train_sampling_strategy": "sequential"} if chosen.fill else {}),
    }


def size(chosen: argparse.Namespace) -> int:
    """The number of rows: by default each is trained on once, and no batch is uneven.

    A run on one process that is to read the batches of several needs as many rows as those, or it shuffles others.
    """
    return chosen.rows or chosen.steps * chosen.batch * int(os.environ.get("WORLD_SIZE", "1"))


def pairs(chosen: argparse.Namespace) -> Dataset:
    """Preference pairs. With noise no model can learn all of them: some contradict the others."""
    dataset = tiny.preference_dataset(size(chosen))
    if chosen.alike:
        dataset = Dataset.from_dict(
            {
                "prompt": dataset["prompt"],
                "chosen": [" " + tiny.sentence(index + 1, 4) for index in range(size(chosen))],
                "rejected": [" " + tiny.sentence(index + 2, 4) for index in range(size(chosen))],
            }
        )
    if not chosen.noise:
        return dataset
    rows = [_swapped(row) if _scattered(index) < chosen.noise else row for index, row in enumerate(dataset)]
    return Dataset.from_list(rows)


def is_alone() -> bool:
    """Whether this is one process without a launcher."""
    return "WORLD_SIZE" not in os.environ


def train(trainer: Trainer, chosen: argparse.Namespace) -> None:
    """Train; with `--fill`, one process reads what several would.

    If an epoch ends with a batch that is not full, accelerate fills it with the first rows, so that all processes have
    as many. One process needs no filling: it is given these rows (accelerate/data_loader.py `BatchSamplerShard`).
    """
    missing = -len(trainer.train_dataset) % chosen.fill if chosen.fill and is_alone() else 0
    if missing:
        trainer.train_dataset = trainer.train_dataset.select([*range(len(trainer.train_dataset)), *range(missing)])
    trainer.train()


def _swapped(row: dict) -> dict:
    return {**row, "chosen": row["rejected"], "rejected": row["chosen"]}


def _scattered(index: int) -> float:
    """A number between 0 and 1, the same in each run (Knuth's multiplicative hash)."""
    return index * 2654435761 % 2**32 / 2**32
