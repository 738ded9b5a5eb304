"""Only rank 0 gathers the weights of a sharded model, while the other one runs its next forward."""

import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import fully_shard

dist.init_process_group("gloo")
model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.Linear(5, 1))
fully_shard(model)
for step in range(3):
    model(torch.ones(2, 6)).sum().backward()  # waits: 1
    if dist.get_rank() == 0 and step == 1:
        get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))  # waits: 0
