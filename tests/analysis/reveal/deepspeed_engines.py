# The result of `deepspeed.initialize`: an engine, which runs the model that it holds and knows this rank.
import deepspeed
from torch.utils.data import DataLoader, DistributedSampler

engine, optimizer, loader, scheduler = deepspeed.initialize(model=build(), config="ds.json")
reveal_rank(engine.local_rank)  # revealed: local(rank)
reveal_rank(engine.global_rank)  # revealed: local(rank)
reveal_rank(engine.world_size)  # revealed: same
reveal_rank(engine.is_gradient_accumulation_boundary())  # revealed: same
reveal_rank(engine.gradient_accumulation_steps())  # revealed: same
reveal_rank(engine.zero_optimization_stage() == 3)  # revealed: same
reveal_rank(engine.get_global_grad_norm())  # revealed: unknown
reveal_rank(engine.module)  # revealed: unknown
reveal_rank(optimizer)  # revealed: unknown
for batch in loader:
    reveal_rank(batch["x"])  # revealed: shard
    reveal_rank(engine(**batch).loss)  # revealed: local(data)
for batch in DataLoader(rows(), sampler=DistributedSampler(rows())):
    loss = engine(batch).loss
    reveal_rank(loss)  # revealed: local(data)
    engine.backward(loss)
    engine.step()
