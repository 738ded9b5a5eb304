"""What the subjects share: how long they train, and that two runs of one differ in nothing.

The model, the tokenizer and the rows are those of the fixtures: tiny, random, built in place.
"""

import argparse
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "fixtures"))
import tiny
from datasets import Dataset


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2, help="optimizer steps")
    parser.add_argument("--batch", type=int, default=2, help="rows per step and process")
    parser.add_argument("--rows", type=int, help="rows in all (as many as are read once, unless given)")
    parser.add_argument("--rate", type=float, default=1e-3, help="learning rate")
    parser.add_argument("--noise", type=float, default=0.0, help="the part of pairs that say the opposite (DPO)")
    return parser.parse_args()


def arguments(chosen: argparse.Namespace) -> dict:
    """For the trainer's config."""
    # transformers 4.47 counts tokens for this even where there is nothing to count, and raises: only SFT asks for it.
    own = {name: value for name, value in tiny.ARGUMENTS.items() if name != "average_tokens_across_devices"}
    return {
        **own,
        "max_steps": chosen.steps,
        "per_device_train_batch_size": chosen.batch,
        "learning_rate": chosen.rate,
        "gradient_checkpointing": False,
        "bf16": False,
    }


def size(chosen: argparse.Namespace) -> int:
    """How many rows there are: unless it is given, each is trained on once, and no batch is uneven.

    A run on one process that is to read the batches of several needs as many rows as those, or it shuffles others.
    """
    return chosen.rows or chosen.steps * chosen.batch * int(os.environ.get("WORLD_SIZE", "1"))


def pairs(chosen: argparse.Namespace) -> Dataset:
    """Pairs to prefer one of. With noise no model can tell all of them: some speak against the others."""
    dataset = tiny.preference_dataset(size(chosen))
    if not chosen.noise:
        return dataset
    rows = [_swapped(row) if _scattered(index) < chosen.noise else row for index, row in enumerate(dataset)]
    return Dataset.from_list(rows)


def _swapped(row: dict) -> dict:
    return {**row, "chosen": row["rejected"], "rejected": row["chosen"]}


def _scattered(index: int) -> float:
    """A number between 0 and 1, the same in each run (Knuth's multiplicative hash)."""
    return index * 2654435761 % 2**32 / 2**32
