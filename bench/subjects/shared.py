"""What the subjects share: how long they train, and that two runs of one differ in nothing.

The model, the tokenizer and the rows are those of the fixtures: tiny, random, built in place.
"""

import argparse
import os
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "fixtures"))
import tiny


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2, help="optimizer steps")
    parser.add_argument("--batch", type=int, default=2, help="rows per step and process")
    return parser.parse_args()


def arguments(chosen: argparse.Namespace) -> dict:
    """For the trainer's config."""
    return {
        **tiny.ARGUMENTS,
        "max_steps": chosen.steps,
        "per_device_train_batch_size": chosen.batch,
        "learning_rate": 1e-3,
        "gradient_checkpointing": False,
        "bf16": False,
    }


def size(chosen: argparse.Namespace) -> int:
    """How many rows are trained on: each once, and no batch is uneven."""
    return chosen.steps * chosen.batch * int(os.environ.get("WORLD_SIZE", "1"))
