"""fastai's helpers for several processes. Read from fastai 2.8.12 (torch_core.py, distributed.py).

Its launcher, or that of accelerate, starts one process per device, and each runs the script. A `Learner` that is
adapted for that makes an Accelerator in its training. What a learner saves, and its callbacks log, the first process
does alone. In a file fastai's names come from any of its modules, which import all of each other's.
"""

from __future__ import annotations

from trl_lint.knowledge.schema import (
    BARRIER,
    GLOBAL_RANK_INDEX,
    UNKNOWN,
    WORLD,
    Class,
    Collective,
    Function,
    Row,
    instance,
)

LEARNER = "fastai.Learner"
TRAINER = "fastai.DistributedTrainer"
SETS_UP = "fastai.distributed.setup_distrib"
# The methods of a learner, which need several processes. The first one is no other class's.
ADAPTS = (f"{LEARNER}.distrib_ctx", f"{LEARNER}.to_distributed")
UNIQUE: dict[str, str] = {"distrib_ctx": LEARNER}
_SOURCE = "fastai/distributed.py::"
_CORE = "fastai/torch_core.py::"
# What makes a learner, and the methods that return the learner itself.
_MAKE_LEARNERS = {
    "collab": ("collab_learner",),
    "tabular.learner": ("tabular_learner",),
    "text.learner": ("language_model_learner", "text_classifier_learner"),
    "vision.learner": ("cnn_learner", "unet_learner", "vision_learner"),
}
_RETURN_IT = ("add_cb", "add_cbs", "to_bf16", "to_distributed", "to_fp16", "to_fp32", "to_native_fp16")

ROWS: tuple[Row, ...] = (
    Class(name=LEARNER, source="fastai/learner.py::Learner"),
    *(
        Function(
            name=f"fastai.{module}.{name}",
            source=f"fastai/{module.replace('.', '/')}.py::{name}",
            returns=instance(LEARNER),
        )
        for module, names in _MAKE_LEARNERS.items()
        for name in names
    ),
    *(
        Function(name=f"{LEARNER}.{name}", source=f"fastai::Learner.{name}", returns=instance(LEARNER))
        for name in _RETURN_IT
    ),
    Function(
        name=f"{LEARNER}.distrib_ctx", source=f"{_SOURCE}Learner.distrib_ctx", returns=UNKNOWN, yields=instance(LEARNER)
    ),
    Class(name=TRAINER, source=f"{_SOURCE}DistributedTrainer"),
    # They read RANK and WORLD_SIZE.
    Function(name="fastai.torch_core.rank_distrib", source=f"{_CORE}rank_distrib", returns=GLOBAL_RANK_INDEX),
    Function(name="fastai.torch_core.num_distrib", source=f"{_CORE}num_distrib", returns=WORLD),
    Collective(
        name="fastai.torch_core.distrib_barrier",
        source=f"{_CORE}distrib_barrier",
        operand=(-1, ""),
        result="barrier",
        fails="",
    ),
    # It returns the number of the GPU that it gets.
    Function(name=SETS_UP, source=f"{_SOURCE}setup_distrib", returns=UNKNOWN),
    # It runs a function on the first process; the others wait, and run it then.
    Function(
        name="fastai.distributed.rank0_first", source=f"{_SOURCE}rank0_first", returns=UNKNOWN, synchronises=BARRIER
    ),
)
