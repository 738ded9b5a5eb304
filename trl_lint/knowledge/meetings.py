"""Calls at which all ranks meet, besides the collectives themselves: what they contain, by canonical name.

`needs` says when: always (""), or only where the model is "sharded" (FSDP, DeepSpeed ZeRO-3), whose parameters
are gathered there. Read from accelerate 1.15, transformers 5.23, torch 2.13 and deepspeed 0.18.
"""

from __future__ import annotations

from typing import NamedTuple


class Meets(NamedTuple):
    """kind: what the ranks do there; calls of one kind match each other. alike: whether every rank may make the call
    wherever one does, as the main process alone writes and reports what comes of it, or each rank its own part.
    """

    kind: str
    needs: str = ""
    alike: bool = False


# The layout of a table is by hand: one or two lines per row.
# fmt: off
_BARRIER, _BACKWARD = Meets("barrier"), Meets("backward")

MEETS: dict[str, Meets] = {
    "accelerate.Accelerator.backward": _BACKWARD,  # DDP reduces the gradients in it
    "accelerate.Accelerator.check_trigger": Meets("reduced", alike=True),
    "accelerate.Accelerator.get_state_dict": Meets("state dict", "sharded", alike=True),
    "accelerate.Accelerator.save_model": Meets("save", "sharded", alike=True),
    "accelerate.Accelerator.save_state": Meets("save", "sharded", alike=True),
    **{
        f"{owner}.{name}": _BARRIER
        for owner in ("accelerate.Accelerator", "accelerate.PartialState", "transformers.TrainingArguments")
        for name in ("local_main_process_first", "main_process_first")
    },
    "deepspeed.zero.GatheredParameters": Meets("parameters"),
    "torch.distributed.checkpoint.load": Meets("load", alike=True),
    "torch.distributed.checkpoint.save": Meets("save", alike=True),
    "torch.distributed.fsdp.FullyShardedDataParallel.summon_full_params": Meets("parameters"),
    "torch.distributed.new_group": Meets("group", alike=True),
    **{
        f"transformers.Trainer.{name}": Meets(name, alike=True) for name in ("evaluate", "evaluation_loop", "predict")
    },
    "transformers.Trainer.train": Meets("train"),
    "transformers.Seq2SeqTrainer.evaluate": Meets("evaluate", alike=True),
    "transformers.Seq2SeqTrainer.predict": Meets("predict", alike=True),
    "transformers.Trainer._save_checkpoint": Meets("save", "sharded"),
    "transformers.Trainer.save_model": Meets("save", "sharded", alike=True),
    "transformers.Trainer.training_step": _BACKWARD,
}

# By which argument (position) a collective of torch.distributed is given its process group; also `group=`.
GROUPS = {
    "all_gather": 2, "all_gather_into_tensor": 2, "all_gather_object": 2, "all_reduce": 2, "all_to_all": 2,
    "all_to_all_single": 4, "barrier": 0, "broadcast": 2, "broadcast_object_list": 2, "gather": 3,
    "gather_object": 3, "monitored_barrier": 0, "reduce": 3, "reduce_scatter": 3, "reduce_scatter_tensor": 3,
    "scatter": 3, "scatter_object_list": 3,
}
GROUP_KEYWORDS = ("group", "process_group")
# Exceptions that all ranks meet alike, or that a person sends to all of them.
EVERYWHERE = frozenset({
    "AttributeError", "ImportError", "KeyboardInterrupt", "ModuleNotFoundError", "NameError", "NotImplementedError",
    "StopIteration", "SystemExit", "TypeError",
})
# fmt: on
