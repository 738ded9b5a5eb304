"""What gives each rank its share of the rows, and what does so again. Read from accelerate 0.12, 0.20, 0.34, 1.6, 1.15.

`Accelerator.prepare` deals the batches of any loader (`BatchSamplerShard`), whatever its sampler does: no release looks
whether that is a `DistributedSampler`. With `split_batches` it deals the rows of each batch, and with
`dispatch_batches` those of the first rank: either is a share of a share.
"""

from __future__ import annotations

from trl_lint.knowledge.schema import UNKNOWN, Function

# What a program names that changes what `prepare` does, and the attribute of a loader that says that it is prepared.
# Source: accelerate/data_loader.py `BatchSamplerShard`; accelerator.py `Accelerator.prepare_data_loader`
PREPARES_OTHERWISE = rb"BatchSamplerShard"
IS_PREPARED = "_is_accelerate_prepared"

# Calls that give a rank its rows, with the parameters for the rank and for the number of ranks.
# Source: datasets 3.5.0 and 5.2.0, distributed.py, arrow_dataset.py `Dataset.shard`
SPLITS = {"datasets.distributed.split_dataset_by_node": ((1, "rank"), (2, "world_size"))}
SHARD = "shard"
OF_SHARD = ((1, "index"), (0, "num_shards"))
SUBSET = "torch.utils.data.Subset"
ROWS_OF_SUBSET, INDICES_OF_SUBSET = (0, "dataset"), (1, "indices")
# Methods of a data set whose result has the same rows.
KEEPS_ROWS = frozenset({
    "cast", "cast_column", "filter", "flatten", "map", "remove_columns", "rename_column", "rename_columns", "repeat",
    "select_columns", "shuffle", "skip", "sort", "take", "with_format", "with_transform",
})  # fmt: skip
# What cuts rows into as many pieces as it is told, as a method or with the rows in front: `chunk(rows, size)[rank]`.
# Source: torch/_tensor_docs.py `chunk`, `tensor_split`; numpy/lib/_shape_base_impl.py `array_split`
CUTS = frozenset({"array_split", "chunk", "tensor_split"})
STREAMS = frozenset({"datasets.IterableDataset", "torch.utils.data.IterableDataset"})

# The Trainer's loaders are prepared from this release on; before, its own samplers dealt the rows.
# Source: transformers 4.30.2 and 4.31.0, trainer.py `Trainer.get_train_dataloader`, `.get_eval_dataloader`
PREPARES_LOADERS = Function(
    name="transformers.Trainer.get_train_dataloader",
    source="trainer.py::Trainer.get_train_dataloader",
    since="4.31",
    returns=UNKNOWN,
)
# The loaders that have all rows on each rank if the Trainer's arguments have the number of a process that no launcher
# has started, whatever has started it: from 4.29 on, accelerate's state says how many processes there are.
# Source: transformers 4.5.1 and 4.28.1, trainer.py `Trainer._get_eval_sampler`, training_args.py
# `TrainingArguments.world_size`; 4.29.2, training_args.py `TrainingArguments.parallel_mode`
ASKS_FOR_LAUNCHER = {
    name: Function(
        name=f"transformers.Trainer.{name}", source=f"trainer.py::Trainer.{name}", until="4.29", returns=UNKNOWN
    )
    for name in ("get_eval_dataloader", "get_test_dataloader")
}
# The field of a Trainer's arguments for the number that a launcher gives a process.
NUMBER_BY_LAUNCHER = "local_rank"
# The hooks that return a sampler for a loader of the Trainer, with the method that makes this loader.
SAMPLER_HOOKS = {"_get_train_sampler": "get_train_dataloader", "_get_eval_sampler": "get_eval_dataloader"}
# What the hooks of releases before read, and copies of them since: they are for a Trainer that does not prepare.
# Source: transformers 4.4.2 to 4.30.2, trainer.py `Trainer._get_train_sampler`, `._get_eval_sampler`
OF_OLD_HOOKS = frozenset({
    "DistributedSamplerWithLoop", "ParallelMode", "get_tpu_sampler", "is_torch_tpu_available", "local_rank",
    "parallel_mode",
})  # fmt: skip
# The file of the Trainer, in a project that has a copy of the library, of some release.
LIBRARY_FILE = ("transformers", "trainer.py")
# The parameters of a Trainer for its data sets, with the method that makes a loader of it.
DATA_OF_TRAINER = {"train_dataset": "get_train_dataloader", "eval_dataset": "get_eval_dataloader"}

# A call that creates a trainer of Lightning, with all its arguments written out, which lets it inject its samplers; and
# a project that tells one not to, or makes trainers from settings.
# Source: lightning/pytorch/trainer/connectors/data_connector.py `_requires_distributed_sampler`
INJECTS_SAMPLERS = (
    rb"\bTrainer\((?:(?!\*\*|use_distributed_sampler|replace_sampler_ddp)"
    rb"(?:[^()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)))*\)"
)
MAY_INJECT_NONE = rb"use_distributed_sampler|replace_sampler_ddp[\"']?\s*[=:]\s*\w+\s*[,)}]|LightningCLI|instantiate\("
