"""Loaders, samplers and data sets of libraries that give each rank data of its own, and those that may not."""

import dgl
import streaming
import webdataset as wds
from catalyst.data.sampler import DistributedSamplerWrapper
from datasets import load_dataset
from detectron2.data import build_detection_test_loader, build_detection_train_loader
from ffcv.loader import Loader
from mmdet.datasets import build_dataloader
from monai.data import CacheDataset, Dataset, partition_dataset
from nvidia.dali.plugin.pytorch import DALIClassificationIterator, DALIGenericIterator
from somebody import create_loader as made_elsewhere
from timm.data import create_loader
from torch import arange, distributed
from torch.utils import data
from torch.utils.data import ConcatDataset, DataLoader, Subset, TensorDataset
from torch_geometric.loader import NeighborLoader
from transformers.trainer_pt_utils import DistributedLengthGroupedSampler

distributed.init_process_group("nccl")
rank, world = distributed.get_rank(), distributed.get_world_size()
args = read_arguments()
rows = make_rows(args)
is_training = args.is_training


def of_timm():
    for x, y in create_loader(rows, 224, 8, distributed=True):
        reveal_rank(x)  # revealed: shard
    for x, y in create_loader(rows, 224, 8, is_training=True, distributed=args.distributed):
        reveal_rank(x)  # revealed: shard
    for x, y in create_loader(rows, 224, 8, distributed=world > 1):
        reveal_rank(x)  # revealed: shard
    for x, y in create_loader(rows, 224, 8, distributed=args.distributed, **args.of_loader):
        reveal_rank(x)  # revealed: shard
    for x, y in create_loader(rows, 224, 8, **args.of_loader):
        reveal_rank(x)  # revealed: unknown
    for x, y in create_loader(rows, 224, 8, distributed=is_training):
        reveal_rank(x)  # revealed: unknown
    for x, y in create_loader(rows, 224, 8, distributed=False):
        reveal_rank(x)  # revealed: unknown
    for x, y in create_loader(rows, 224, 8):
        reveal_rank(x)  # revealed: unknown
    for x, y in made_elsewhere(rows, 224, 8, distributed=True):
        reveal_rank(x)  # revealed: unknown


def of_webdataset():
    web = wds.WebDataset(args.urls, nodesplitter=wds.split_by_node).shuffle(100).decode("pil").to_tuple("jpg", "cls")
    for x, y in DataLoader(web.batched(8)):
        reveal_rank(x)  # revealed: shard
    for x, y in wds.WebLoader(web, batch_size=8).unbatched().shuffle(100).batched(8).with_epoch(10):
        reveal_rank(x)  # revealed: shard
    for x, y in web:
        reveal_rank(x)  # revealed: shard
    reveal_rank(web.n_samples)  # revealed: unknown
    for x, y in DataLoader(wds.WebDataset(args.urls, resampled=True).decode("pil")):
        reveal_rank(x)  # revealed: shard
    for x in wds.DataPipeline(wds.SimpleShardList(args.urls), wds.split_by_node, wds.tarfile_to_samples()):
        reveal_rank(x)  # revealed: shard
    for x in wds.DataPipeline(*[wds.ResampledShards(args.urls), wds.tarfile_to_samples(), wds.batched(8)]):
        reveal_rank(x)  # revealed: shard
    steps = [wds.SimpleShardList(args.urls), wds.split_by_node, *args.steps, wds.batched(8)]
    for x in wds.WebLoader(wds.DataPipeline(*steps)):
        reveal_rank(x)  # revealed: shard
    few = [wds.SimpleShardList(args.urls)]
    if args.split:
        few.extend([wds.split_by_node, wds.tarfile_to_samples()])
    for x in wds.WebLoader(wds.DataPipeline(*few)):
        reveal_rank(x)  # revealed: unknown
    for x in wds.DataPipeline(wds.SimpleShardList(args.urls), wds.split_by_worker, wds.tarfile_to_samples()):
        reveal_rank(x)  # revealed: unknown
    for x, y in DataLoader(wds.WebDataset(args.urls, nodesplitter=None).decode("pil")):
        reveal_rank(x)  # revealed: unknown
    for x, y in DataLoader(wds.WebDataset(args.urls).decode("pil")):
        reveal_rank(x)  # revealed: unknown


class Texts(streaming.StreamingDataset):
    def __getitem__(self, index):
        return encoded(super().__getitem__(index))


class AllTexts(streaming.StreamingDataset):
    def __iter__(self):
        return all_of(self)


def of_streaming():
    for x in DataLoader(streaming.StreamingDataset(local=args.folder, batch_size=8), batch_size=8):
        reveal_rank(x)  # revealed: shard
    for x in DataLoader(Texts(local=args.folder), batch_size=8):
        reveal_rank(x)  # revealed: shard
    for x in DataLoader(AllTexts(local=args.folder), batch_size=8):
        reveal_rank(x)  # revealed: unknown
    for x in DataLoader(streaming.StreamingDataset(local=args.folder, replication=2), batch_size=8):
        reveal_rank(x)  # revealed: unknown
    for x in DataLoader(streaming.LocalDataset(args.folder)):
        reveal_rank(x)  # revealed: unknown


class OwnRows(data.Dataset):
    def __init__(self, files, transform=None, device=None):
        self.files, self.transform, self.device = files, transform, device

    def __getitem__(self, index):
        return loaded(self.files[index])


def of_data_sets():
    part = partition_dataset(rows, num_partitions=world, even_divisible=True)[rank]
    for x in DataLoader(CacheDataset(data=part, transform=args.transform), batch_size=2):
        reveal_rank(x)  # revealed: shard
    for x in DataLoader(ConcatDataset([Dataset(part), Dataset(part)]), batch_size=2):
        reveal_rank(x)  # revealed: shard
    reveal_rank(CacheDataset(data=part)[0])  # revealed: unknown
    for x in DataLoader(Dataset(partition_dataset(rows, num_partitions=world)[0]), batch_size=2):
        reveal_rank(x)  # revealed: unknown
    for x in DataLoader(CacheDataset(data=rows, num_workers=rank), batch_size=2):
        reveal_rank(x)  # revealed: unknown
    for x, y in DataLoader(TensorDataset(rows.images[rank::world], rows.labels[rank::world])):
        reveal_rank(x)  # revealed: shard
    for x, y in DataLoader(TensorDataset(rows.images, rows.labels)):
        reveal_rank(x)  # revealed: unknown
    for x in DataLoader(Subset(rows, list(range(rank, 100, world)))):
        reveal_rank(x)  # revealed: shard
    for x in DataLoader(OwnRows(rows.files[rank::world], args.transform)):
        reveal_rank(x)  # revealed: shard
    mine = OwnRows(files=rows.files[rank::world])
    for x in DataLoader(mine, batch_size=2):
        reveal_rank(x)  # revealed: shard
    for x in DataLoader(OwnRows(rows.files, device=rank)):
        reveal_rank(x)  # revealed: unknown
    stream = load_dataset(args.name, split="train", streaming=True)
    for x in DataLoader(stream.shard(world, rank).map(encoded)):
        reveal_rank(x)  # revealed: shard
    for x in DataLoader(stream.shard(num_shards=world, index=rank)):
        reveal_rank(x)  # revealed: shard
    for x in DataLoader(stream.shard(num_shards=10, index=0)):
        reveal_rank(x)  # revealed: unknown
    for x in DataLoader(load_dataset(args.name, split="train").shard(num_shards=10, index=args.part)):
        reveal_rank(x)  # revealed: unknown


class Balanced(DistributedSamplerWrapper):
    def set_weights(self, weights):
        self.sampler.weights = weights


def of_others():
    for x in Loader(args.file, 8, 4, distributed=args.distributed):
        reveal_rank(x)  # revealed: shard
    for x in Loader(args.file, batch_size=8):
        reveal_rank(x)  # revealed: unknown
    for x in DataLoader(rows, sampler=DistributedSamplerWrapper(balanced(rows))):
        reveal_rank(x)  # revealed: shard
    for x in DataLoader(rows, sampler=Balanced(rows.sampler)):
        reveal_rank(x)  # revealed: shard
    for x in DataLoader(rows, sampler=DistributedLengthGroupedSampler(8, dataset=rows)):
        reveal_rank(x)  # revealed: shard
    for x in build_detection_train_loader(args):
        reveal_rank(x)  # revealed: shard
    for x in build_detection_test_loader(args, "coco"):
        reveal_rank(x)  # revealed: shard
    for x in build_detection_train_loader(args, sampler=balanced(rows)):
        reveal_rank(x)  # revealed: unknown
    for x in build_dataloader(rows, 2, 2, dist=args.distributed):
        reveal_rank(x)  # revealed: shard
    for x in build_dataloader(rows, 2, 2):
        reveal_rank(x)  # revealed: shard
    pipeline = make_pipeline(args.folder, batch_size=8, shard_id=rank, num_shards=world)
    for x in DALIGenericIterator([pipeline], ["image"], reader_name="Reader"):
        reveal_rank(x[0]["image"])  # revealed: shard
    for x in DALIClassificationIterator(make_pipeline(args.folder, device_id=rank), reader_name="Reader"):
        reveal_rank(x[0]["data"])  # revealed: unknown
    for x in build_dataloader(rows, 2, 2, dist=False):
        reveal_rank(x)  # revealed: unknown


def of_graphs(graph, whole):
    nodes = arange(100)
    for x in NeighborLoader(whole, [9], input_nodes=nodes[rank::world], batch_size=8):
        reveal_rank(x)  # revealed: shard
    for x in NeighborLoader(whole, [9], input_nodes=nodes.split(len(nodes) // world)[rank], batch_size=8):
        reveal_rank(x)  # revealed: shard
    for x in NeighborLoader(whole, [9], input_nodes=nodes, batch_size=8):
        reveal_rank(x)  # revealed: unknown
    for x in NeighborLoader(whole, [9], batch_size=8):
        reveal_rank(x)  # revealed: unknown
    for x in dgl.dataloading.DataLoader(graph, nodes, sampler_of(args), use_ddp=True):
        reveal_rank(x)  # revealed: shard
    for x in dgl.dataloading.DataLoader(graph, nodes[rank::world], sampler_of(args)):
        reveal_rank(x)  # revealed: shard
    for x in dgl.dataloading.GraphDataLoader(rows, use_ddp=True):
        reveal_rank(x)  # revealed: shard
    for x in dgl.dataloading.GraphDataLoader(rows, use_ddp=False):
        reveal_rank(x)  # revealed: unknown
    for x in dgl.dataloading.DataLoader(graph, nodes, sampler_of(args)):
        reveal_rank(x)  # revealed: unknown


of_timm()
of_webdataset()
of_streaming()
of_data_sets()
of_others()
of_graphs(make_graph(args), make_graph(args))
