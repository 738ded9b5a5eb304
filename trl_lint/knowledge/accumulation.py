"""How an Accelerator counts the batches whose gradients it adds up.

Each time that `with accelerator.accumulate(...)` is entered, `_do_sync` adds 1 to the Accelerator's `step`, and sets
`sync_gradients` if that is a multiple of `gradient_accumulation_steps`, or if the loader is at its end. Unless it is
set, `accumulate` enters `no_sync` of its models. What the models are, and whether they are wrapped, does not matter to
the count. The prepared optimizer skips its step unless `sync_gradients` is set when it is called.
Source: accelerate/accelerator.py `Accelerator.accumulate`, `Accelerator._do_sync` (0.12 to 1.15).
"""

from __future__ import annotations

from trl_lint.knowledge.schema import OpaqueCall

ACCUMULATE = "accelerate.Accelerator.accumulate"
# It takes several models, and counts the batch once for all of them; before, it took one: `accumulate(self, model)`.
TAKES_SEVERAL = OpaqueCall(name=ACCUMULATE, source="accelerator.py::Accelerator.accumulate", since="0.22")
ACCELERATOR = "Accelerator"
# Settings of an Accelerator that say how many batches it accumulates; DeepSpeed's has a number of its own.
PLUGINS = frozenset({"deepspeed_plugin", "gradient_accumulation_plugin"})
# Arguments of an Accelerator that may be given by their place before that number.
BEFORE_NUMBER = 3
# Files that say it in another way: for an Accelerator that is created elsewhere.
SAYS_NUMBER = rb"\bgradient_accumulation_(?:plugin|steps)\b"
# With this setting all batches are reduced, whether they are the last of a step or not.
REDUCES_EACH = rb"\bsync_each_batch\b"
