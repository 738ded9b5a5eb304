"""A sharded model generates on both ranks, on rank 0 more tokens: for each of them the ranks gather the weights.

By itself `generate` has all ranks go on until the last one is through (the argument `synchronised`); here it must not.
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
