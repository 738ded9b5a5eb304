"""Samplers of lhotse ask for the rank themselves, unless they are told."""

import torch.distributed as dist
from lhotse.dataset import DynamicBucketingSampler, K2SpeechRecognitionDataset, SimpleCutSampler
from lhotse.dataset.sampling import RoundRobinSampler
from torch.utils.data import DataLoader
from torchaudio.datasets.utils import bg_iterator

dist.init_process_group("nccl")
cuts = load_cuts()
rows = K2SpeechRecognitionDataset(cuts)

for batch in DataLoader(rows, sampler=SimpleCutSampler(cuts, max_duration=100), batch_size=None):
    reveal_rank(batch)  # revealed: shard
    reveal_rank(batch["inputs"].sum())  # revealed: partial(sum)
for batch in bg_iterator(DataLoader(rows, sampler=DynamicBucketingSampler(cuts), batch_size=None), 2):
    reveal_rank(batch)  # revealed: shard
for batch in DataLoader(rows, sampler=SimpleCutSampler(cuts, world_size=1, rank=0), batch_size=None):
    reveal_rank(batch)  # revealed: unknown
for batch in DataLoader(rows, sampler=RoundRobinSampler(SimpleCutSampler(cuts)), batch_size=None):
    reveal_rank(batch)  # revealed: unknown
