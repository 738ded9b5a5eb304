"""Dicts that are passed to a model, or to a method of it, as they are: their values count, not their keys."""

from accelerate import Accelerator
from torch.nn.parallel import DistributedDataParallel
from transformers import AutoModel

accelerator = Accelerator()
model, optimizer, loader = accelerator.prepare(make_model(), make_optimizer(), make_loader())
encoder = DistributedDataParallel(make_encoder())


def on_device(batch):
    return {key: value.to("cuda") for key, value in batch.items()}


for batch in loader:
    query, passage = on_device(batch["query"]), on_device(batch["passage"])
    reveal_rank(model(query, passage).mean())  # revealed: partial(mean)
    reveal_rank(encoder.module.encode(query))  # revealed: shard
    reveal_rank(encoder.module.encode({"query": query}))  # revealed: local(data)
    reveal_rank(encoder.module.encode(query=query))  # revealed: shard
    reveal_rank(encoder.module.encode({"length": 3}))  # revealed: same
    gathered = {key: accelerator.gather(value) for key, value in query.items()}
    reveal_rank(encoder.module.encode(gathered))  # revealed: same
    tower = AutoModel.from_pretrained("tower")
    reveal_rank(tower([query["x"]]))  # revealed: shard
