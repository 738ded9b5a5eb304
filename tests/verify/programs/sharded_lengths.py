"""A sharded model generates on both ranks, more tokens on rank 0: for each of them the ranks gather the weights.

By default `generate` lets all ranks continue until the last one has finished (the argument `synchronised`); not here.
"""

import sys

import torch
import torch.distributed as dist
from tiny import tiny_model
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
model = tiny_model()
for layer in (*model.model.layers, model):
    fully_shard(layer)
tokens = 2 if dist.get_rank() else 4
prompts = torch.full((1, 3), 4)
how = {} if "synchronised" in sys.argv else {"synced_gpus": False}
generated = model.generate(prompts, min_new_tokens=tokens, max_new_tokens=tokens, pad_token_id=0, **how)  # waits: 0
assert generated.shape[1] == 3 + tokens
dist.barrier()  # waits: 1
