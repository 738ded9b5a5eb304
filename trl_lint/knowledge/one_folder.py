"""What needs one folder for all ranks: each of them writes a part of a checkpoint into it, or looks for the best one.

Fabric needs no row: it broadcasts the path (lightning/fabric/strategies/fsdp.py, deepspeed.py `save_checkpoint`), as
Lightning does those of its checkpoints and loggers.
"""

from __future__ import annotations

from typing import NamedTuple

from trl_lint.knowledge.engines import ENGINE
from trl_lint.knowledge.schema import Parameter

# The arguments of a Trainer, with the folder of its checkpoints. Read in transformers 4.51.3, trainer.py
# `Trainer._save_checkpoint`, `._save_rng_state`, `._load_best_model`: rank 0 writes model and state, each rank its own
# random state, and each rank looks for the best checkpoint in the folder that it knows.
ARGUMENTS = "transformers.TrainingArguments"
FOLDER: Parameter = (0, "output_dir")
LOADS_BEST = "load_best_model_at_end"
CHOOSE_ENGINE = ("deepspeed", "fsdp")
# Arguments with which a Trainer writes no checkpoints, or only what rank 0 does.
SAVES = "save_strategy"
SAVES_NOTHING = frozenset({"no", "IntervalStrategy.NO", "SaveStrategy.NO"})
SAVES_MODEL_ONLY = "save_only_model"


class SavedTogether(NamedTuple):
    """A call by which all ranks write a checkpoint. folders: the parameters that name where.

    in_parts: whether each rank writes a part of the model or its optimizer under every engine.
    """

    folders: tuple[Parameter, ...]
    in_parts: bool = True


# Sources: torch 2.13, distributed/checkpoint/: state_dict_saver.py `save`, `async_save`, filesystem.py
# `FileSystemWriter`; accelerate 1.6.0, accelerator.py `Accelerator.save_state`, checkpointing.py
# `save_accelerator_state`; DeepSpeed, runtime/engine.py `save_checkpoint`, which only warns of other tags elsewhere.
SAVED_TOGETHER: dict[str, SavedTogether] = {
    "accelerate.Accelerator.save_state": SavedTogether(((0, "output_dir"),), in_parts=False),
    f"{ENGINE}.save_checkpoint": SavedTogether(((0, "save_dir"), (1, "tag"))),
    "torch.distributed.checkpoint.FileSystemWriter": SavedTogether(((0, "path"),)),
    "torch.distributed.checkpoint.async_save": SavedTogether(((-1, "checkpoint_id"),)),
    "torch.distributed.checkpoint.save": SavedTogether(((-1, "checkpoint_id"),)),
}
# With this argument of torch's functions, each rank writes a whole checkpoint of its own.
SAVES_ALONE = rb"\bno_dist\s*=\s*True\b"

# A file that names one of these starts processes that have what the file has bound before, as copies of its process.
# Source: accelerate 1.6.0, launchers.py `notebook_launcher`, `debug_launcher`, which call `start_processes` with "fork"
FORKS = rb"\b(?:debug_launcher|notebook_launcher|fork)\b"

# Calls by which a file may share a name between ranks, in whatever object it is.
SHARES = rb"\b(?:all_gather_object|broadcast|broadcast_multiple_objects|broadcast_object|broadcast_object_list)\("
