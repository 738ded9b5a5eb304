"""Loaders, samplers and data sets of libraries by which each rank gets data of its own, and what is made of a share.

A function or class is known by the first and the last part of its name, as the modules between them differ between
releases: `timm.data.loader.create_loader` is `("timm", "create_loader")`.

Read from timm 1.0.31, webdataset 0.1.103, 0.2.111 and 1.0.2, mosaicml-streaming 0.13.0, monai 1.6.1, catalyst 22.4,
torch_geometric 2.5.3, prefetch_generator 1.0.3, torchdata 0.11.0, transformers 4.57.6, and from the repositories of
FFCV (libffcv/ffcv), DGL (dmlc/dgl 0.9 to 2.1), detectron2 and mmdetection (2.x).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from trl_lint.knowledge.schema import Parameter
from trl_lint.knowledge.torch_distributed import DISTRIBUTED_SAMPLER

Name = tuple[str, str]


class SharingLoader(NamedTuple):
    """A loader of a library that gives each rank data of its own.

    source: where this was read. given: the parameter that has to be true for it; None: it always does. default: what
    that is unless it is passed. unless: keywords that, if one is passed, leave open what the loader does. rows: the
    parameter for its rows: the loader gives each rank its own data also if these are a share. shuffles: the parameter
    that has to be true for a `DistributedSampler` that shuffles, and that has to be told each epoch; None: it may draw
    another order in each without being told. data: the parameter for the data set that it shuffles.
    """

    source: str
    given: Parameter | None = None
    default: bool = False
    unless: frozenset[str] = frozenset()
    rows: Parameter | None = None
    shuffles: Parameter | None = None
    data: Parameter = (0, "dataset")


# The data sets of timm that are streams begin so, and `create_loader` gives them no sampler (timm/data/
# dataset_factory.py::create_dataset; loader.py: `not isinstance(dataset, torch.utils.data.IterableDataset)`).
TIMM_DATA = "create_dataset"
TIMM_STREAMS = ("hfids/", "tfds/", "wds/")

# The layout of a table is by hand.
# fmt: off
# `if distributed … DistributedSampler(dataset)`, and in an evaluation one that pads, so that all ranks have as many.
_TIMM = SharingLoader("timm/data/loader.py::create_loader", given=(-1, "distributed"), shuffles=(3, "is_training"))
_MOSAIC = "streaming/base/dataset.py::StreamingDataset: `World.detect()`"
_FFCV = SharingLoader("ffcv/loader/loader.py::Loader: \"Emulates the behavior of DistributedSampler\"",
                given=(5, "distributed"))
_DGL = "python/dgl/dataloading/dataloader.py::DataLoader: `create_tensorized_dataset(…, use_ddp, ddp_seed)`"
_GRAPHS = "python/dgl/dataloading/dataloader.py::GraphDataLoader: `_create_dist_sampler`"
_DETECTRON = "detectron2/data/build.py::"
_OPENMMLAB = "mmdet/datasets/builder.py::build_dataloader: `if dist: … DistributedSampler(…, world_size, rank)`"
_GEOMETRIC = "torch_geometric/loader/"

LOADERS: Mapping[Name, SharingLoader] = {
    ("timm", "create_loader"): _TIMM,
    ("ffcv", "Loader"): _FFCV,
    ("dgl", "GraphDataLoader"): SharingLoader(_GRAPHS, given=(2, "use_ddp"), rows=(0, "dataset")),
    **{
        ("dgl", name): SharingLoader(_DGL, given=(4, "use_ddp"), rows=(1, "indices"))
        for name in ("DataLoader", "EdgeDataLoader", "NodeDataLoader")
    },
    # A sampler for training without an end, and one that divides the rows for an evaluation: both ask for the rank.
    ("detectron2", "build_detection_train_loader"): SharingLoader(f"{_DETECTRON}build_detection_train_loader: "
                                                            "`TrainingSampler`", unless=frozenset({"sampler"})),
    ("detectron2", "build_detection_test_loader"): SharingLoader(f"{_DETECTRON}build_detection_test_loader: "
                                                           "`InferenceSampler`", unless=frozenset({"sampler"})),
    **{
        (root, "build_dataloader"): SharingLoader(_OPENMMLAB, given=(4, "dist"), default=True)
        for root in ("mmaction", "mmcls", "mmdet", "mmdet3d", "mmedit", "mmpose", "mmseg")
    },
    # These sample around the nodes that they are passed.
    **{
        ("torch_geometric", name): SharingLoader(f"{_GEOMETRIC}{file}.py::{name}", given=(-1, ""), rows=rows)
        for name, file, rows in (
            ("HGTLoader", "hgt_loader", (2, "input_nodes")),
            ("LinkNeighborLoader", "link_neighbor_loader", (2, "edge_label_index")),
            ("NeighborLoader", "neighbor_loader", (2, "input_nodes")),
            ("NeighborSampler", "neighbor_sampler", (2, "node_idx")),
            ("ShaDowKHopSampler", "shadow", (3, "node_idx")),
        )
    },
}

# Data sets that give each rank its own rows, whichever loader goes through them: they ask for the rank themselves. With
# `replication` some ranks have the same.
DATA: Mapping[Name, SharingLoader] = {
    ("streaming", name): SharingLoader(_MOSAIC, unless=frozenset({"replication"}))
    for name in ("StreamingADE20K", "StreamingC4", "StreamingCIFAR10", "StreamingCOCO", "StreamingDataset",
                 "StreamingEnWiki", "StreamingImageNet", "StreamingPile")
}

# Samplers that give each rank its own rows. Those that exist on several processes only need a process group.
_TRAINER = "transformers/trainer_pt_utils.py"
SAMPLERS: Mapping[Name, str] = {
    ("catalyst", "DistributedSamplerWrapper"): "catalyst/data/sampler.py::DistributedSamplerWrapper",
    ("mmdet", "DistributedGroupSampler"): "mmdet/datasets/samplers/group_sampler.py::DistributedGroupSampler",
    ("mmdet", "DistributedSampler"): "mmdet/datasets/samplers/distributed_sampler.py::DistributedSampler",
    ("monai", "DistributedSampler"): "monai/data/samplers.py::DistributedSampler",
    ("monai", "DistributedWeightedRandomSampler"): "monai/data/samplers.py::DistributedWeightedRandomSampler",
    ("timm", "OrderedDistributedSampler"): "timm/data/distributed_sampler.py::OrderedDistributedSampler",
    ("timm", "RepeatAugSampler"): "timm/data/distributed_sampler.py::RepeatAugSampler",
    ("transformers", "DistributedLengthGroupedSampler"): f"{_TRAINER}::DistributedLengthGroupedSampler",
    ("transformers", "DistributedSamplerWithLoop"): f"{_TRAINER}::DistributedSamplerWithLoop",
}
SAMPLERS_OF_ANY_RUN: Mapping[Name, str] = {
    ("detectron2", name): f"detectron2/data/samplers/distributed_sampler.py::{name}"
    for name in ("InferenceSampler", "RepeatFactorTrainingSampler", "TrainingSampler")
}

# Data sets that hold the rows that they are passed, or what is loaded of each of them: of this rank's share, its own.
# Source: monai/data/{dataset,image_dataset,grid_dataset,iterable_dataset}.py, torch/utils/data/dataset.py
OF_OTHER_ROWS: Mapping[str, frozenset[str]] = {
    "monai": frozenset({
        "ArrayDataset", "CacheDataset", "CacheNTransDataset", "Dataset", "GDSDataset", "GridPatchDataset",
        "ImageDataset", "IterableDataset", "LMDBDataset", "PatchDataset", "PersistentDataset", "ShuffleBuffer",
        "SmartCacheDataset", "ZipDataset",
    }),
    "torch": frozenset({"ChainDataset", "ConcatDataset", "Subset", "TensorDataset"}),
}
# What else they are passed: not their rows.
NO_ROWS = frozenset({"transform", "img_transform", "label_transform", "seg_transform"})

# Functions that return what a file contains, whose path they are passed first.
READ_FILES = frozenset({
    "PIL.Image.open", "cv2.imread", "imageio.imread", "joblib.load", "json.load", "numpy.load", "pandas.read_csv",
    "pandas.read_json", "pandas.read_parquet", "pickle.load", "safetensors.torch.load_file", "torch.load",
    "torchvision.io.read_image",
})

# Loaders of DALI's pipelines, and what a reader in one is told: which of how many parts of the files it reads.
# Source: nvidia/dali/plugin/pytorch/__init__.py; `fn.readers.file`: "Index of the shard to read"
PIPELINES = frozenset({("nvidia", "DALIClassificationIterator"), ("nvidia", "DALIGenericIterator")})
PART_OF_PIPELINE, PARTS_OF_PIPELINE = "shard_id", "num_shards"
# What makes the items of an iterator ahead, in a thread of its own, and gives them on.
# Source: prefetch_generator/__init__.py::BackgroundGenerator
MADE_AHEAD = frozenset({"BackgroundGenerator"})

# --- webdataset ---
# `split_by_node` gives each rank every n-th shard. By default, `single_node_only` raises if there are several ranks; in
# 0.1 `split_by_node` is the default. Each process resamples with a seed of its own.
# Source: webdataset/shardlists.py, webdataset/compat.py::WebDataset
WEBDATASET = "webdataset"
WEB_DATA, WEB_LOADER, WEB_PIPELINE = "WebDataset", "WebLoader", "DataPipeline"
WEB_RESAMPLED = frozenset({"ResampledShardList", "ResampledShards"})
WEB_SPLITTERS = frozenset({"split_by_node"})
# Of a data set: the parameters for the function that divides its shards, and for whether it resamples them.
SPLITTER, RESAMPLED = (-1, "nodesplitter"), (-1, "resampled")
# The methods of data and of its loader that return it with one more step, or with another length.
# Source: webdataset/compat.py::FluidInterface, webdataset/pipeline.py::DataPipeline
WEB_STEPS = frozenset({
    "batched", "compose", "decode", "extract_keys", "listed", "log_keys", "map", "map_dict", "map_tuple", "mcached",
    "rename", "rename_keys", "repeat", "rsample", "select", "shuffle", "slice", "to_tuple", "unbatched", "unlisted",
    "with_epoch", "with_length", "xdecode",
})
# fmt: on


def key_of(name: str) -> Name:
    """The first and the last part of a dotted name."""
    return name.partition(".")[0], name.rpartition(".")[2]


def is_sharing_sampler(name: str) -> bool:
    """Whether a class of samplers of a library gives each rank its own rows."""
    return name == DISTRIBUTED_SAMPLER or key_of(name) in SAMPLERS or key_of(name) in SAMPLERS_OF_ANY_RUN


def shares_itself(bases: Iterable[str]) -> bool:
    """Whether objects of a class with these library bases are data that gives each rank its own rows."""
    return any(key_of(base) in DATA for base in bases)
