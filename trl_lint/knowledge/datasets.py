"""Data sets that are computed once and kept in files. Read from datasets 2.14.0, 3.5.0 and 5.2.0.

`map` and `filter` of a data set in files write their result to a file next to them, named after a fingerprint of the
data and the function; a process that computes the same again reads it. A data set that was created in memory has no
such file, and a streamed one computes nothing before it is read.
"""

from __future__ import annotations

from trl_lint.domain import ranks
from trl_lint.domain.kinds import IterableValue, LibraryInstance, TupleValue
from trl_lint.domain.values import Value
from trl_lint.findings import Consequence
from trl_lint.knowledge.schema import SAME, Class, Effect, Function, Preparation, Row, instance

# The layout of a table is by hand: one or two lines per row.
# fmt: off

_ARROW = "arrow_dataset.py::Dataset"
_DICT = "dataset_dict.py::DatasetDict"
_ITERABLE = "iterable_dataset.py::IterableDataset"

# A data set, or a dict of its splits, which has all its methods: `x[split]` of either is a data set.
DATASET = instance("datasets.DatasetDict")
DATASET_CLASSES = frozenset({"datasets.Dataset", "datasets.DatasetDict"})
# What makes a dict of splits, with its parameter for another dict.
MAKES_SPLITS, SPLITS_MAPPED = "datasets.DatasetDict", (0, "mapping")
STREAM = instance("datasets.IterableDataset")
STREAM_CLASSES = frozenset({"IterableDataset", "IterableDatasetDict"})
# The names and parts of a dict of splits.
_ITEMS = IterableValue(ranks.SAME, TupleValue(ranks.SAME, (SAME, DATASET)), ranks.SAME)
_VALUES = IterableValue(ranks.SAME, DATASET, ranks.SAME)

# The file is neither written nor read.
_UNCACHED = {"keep_in_memory": True, "load_from_cache_file": False}
# Calls with the same effect on everything that is computed later: each process then writes files of its own.
# Source: https://huggingface.co/docs/datasets/en/package_reference/main_classes#datasets.disable_caching
DISABLES_CACHING = ("disable_caching(", "set_caching_enabled(False")

# Arguments for the reader only, which are not part of the name of a file.
# Source: arrow_dataset.py, the `dataset_kwargs` of `Dataset.map`, and `ignore_kwargs` of `Dataset.filter`
SAYS_ONLY = frozenset({"desc"})

# A function that is mapped is hashed with everything that it reads, and the hash names the file. Arguments of a program
# contain the rank if a launcher passes it to each process.
# Sources: https://huggingface.co/docs/datasets/en/about_cache; torch/distributed/launch.py `--local-rank`
RANK_OPTION = rb"add_argument\(\s*[\"']--local[-_]rank[\"']"

# A method by which webdataset makes batches, with the parameter for an incomplete last one, and its loader, which gives
# them on as they are.
# Source: webdataset 0.2.111, filters.py `_batched`; compat.py `FluidInterface.batched`, `WebLoader`
MAKES_BATCHES, INCOMPLETE_TOO = "batched", "partial"
WEB_LOADER = "WebLoader"


# The argument of torch's DataLoader that leaves an incomplete last batch out; helpers that make one take it as well.
DROPS_INCOMPLETE = "drop_last"

# A method that divides a data set, and its parameters: how many parts there are, and the number of the one it returns.
# Source: arrow_dataset.py::Dataset.shard
NUMBERED_PART, COUNT_OF_PARTS, NUMBER_OF_PART = ".shard", (0, "num_shards"), (1, "index")

_STAYS = (
    "cast", "cast_column", "class_encode_column", "flatten", "flatten_indices", "remove_columns", "rename_column",
    "rename_columns", "repeat", "select", "select_columns", "skip", "sort", "take", "with_format", "with_transform",
)
# Methods whose arguments say which rows the result has.
PICK_ROWS = frozenset({"datasets.Dataset.select", "datasets.Dataset.skip", "datasets.Dataset.take"})
_STREAMS_ON = (
    "add_column", "batch", "cast", "cast_column", "decode", "filter", "map", "remove_columns", "rename_column",
    "rename_columns", "repeat", "reshard", "select_columns", "shuffle", "skip", "take", "with_format",
)
_STREAMS_FROM = (
    "from_csv", "from_dict", "from_file", "from_generator", "from_json", "from_list", "from_pandas", "from_parquet",
    "from_polars", "from_text",
)
# Without one of these, numpy's global state decides, and names the files of everything that is computed later.
_SEEDS = {
    "shuffle": ((0, "seed"), (1, "generator"), (0, "seeds"), (2, "generators")),
    "train_test_split": ((4, "seed"), (5, "generator")),
}

_CLASSES: tuple[Row, ...] = (
    Class(name="datasets.Dataset", source=_ARROW, others=SAME),
    Class(name="datasets.DatasetDict", source=_DICT, bases=("datasets.Dataset",)),
    Class(name="datasets.IterableDataset", source=_ITERABLE, others=SAME),
    Class(name="datasets.IterableDatasetDict", source="dataset_dict.py::IterableDatasetDict",
          bases=("datasets.IterableDataset",)),
)

_FUNCTIONS: tuple[Row, ...] = (
    *(
        Preparation(name=f"datasets.Dataset.{name}", source=f"{_ARROW}.{name}", returns=DATASET, uncached=_UNCACHED)
        for name in ("filter", "map")
    ),
    *(
        Function(name=f"datasets.Dataset.{name}", source=f"{_ARROW}.{name}", returns=DATASET)
        for name in (*_STAYS, "add_column")
    ),
    *(
        Function(name=f"datasets.Dataset.{name}", source=f"{_ARROW}.{name}", returns=DATASET, seeds=seeds)
        for name, seeds in _SEEDS.items()
    ),
    *(
        Function(name=f"datasets.{name}.push_to_hub", source=f"{source}.push_to_hub", returns=SAME,
                 effect=Effect("pushes the same data set", consequence=Consequence.WASTE))
        for name, source in (("Dataset", _ARROW), ("IterableDataset", _ITERABLE))
    ),
    Function(name="datasets.Dataset.shard", source=f"{_ARROW}.shard", returns="shard"),
    Function(name="datasets.IterableDataset.shard", source=f"{_ITERABLE}.shard", returns="shard"),
    Function(name="datasets.Dataset.to_iterable_dataset", source=f"{_ARROW}.to_iterable_dataset", returns=STREAM),
    Function(name="datasets.DatasetDict.items", source=_DICT, returns=_ITEMS),
    Function(name="datasets.DatasetDict.values", source=_DICT, returns=_VALUES),
    *(
        Function(name=f"datasets.Dataset.{name}", source=f"{_ARROW}.{name}", returns=DATASET)
        for name in ("from_csv", "from_file", "from_generator", "from_json", "from_parquet", "from_sql", "from_text",
                     "load_from_disk")
    ),
    # Created in memory: no file to share.
    *(
        Function(name=f"datasets.Dataset.{name}", source=f"{_ARROW}.{name}", returns=SAME)
        for name in ("from_dict", "from_list", "from_pandas", "from_polars")
    ),
    *(
        Function(name=f"datasets.IterableDataset.{name}", source=f"{_ITERABLE}.{name}", returns=STREAM)
        for name in (*_STREAMS_FROM, *_STREAMS_ON)
    ),
    *(
        Function(name=f"datasets.{name}", source=f"combine.py::{name}", returns=DATASET)
        for name in ("concatenate_datasets", "interleave_datasets")
    ),
    Function(name="datasets.load_dataset", source="load.py::load_dataset", returns=DATASET,
             switch=(14, "streaming"), switched=STREAM),
    Function(name="datasets.load_from_disk", source="load.py::load_from_disk", returns=DATASET),
    Function(name="datasets.distributed.split_dataset_by_node", source="distributed.py::split_dataset_by_node",
             returns="shard"),
)

ROWS: tuple[Row, ...] = (*_CLASSES, *_FUNCTIONS)


# A method that only data sets have, among the classes a training script deals with.
UNIQUE: dict[str, str] = {"train_test_split": "datasets.Dataset"}


def is_dataset(value: Value) -> bool:
    return isinstance(value, LibraryInstance) and value.name.startswith("datasets.")
