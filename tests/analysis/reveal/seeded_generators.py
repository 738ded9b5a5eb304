"""A generator with a seed that all ranks share may draw the same on each; without one, each rank draws its own."""

import numpy as np
import torch.distributed as dist

dist.init_process_group("nccl")
rank = dist.get_rank()

reveal_rank(np.random.default_rng(0).integers(9))  # revealed: unknown
reveal_rank(np.random.RandomState(seed=7).permutation(9))  # revealed: unknown
reveal_rank(np.random.default_rng().integers(9))  # revealed: local(rng)
reveal_rank(np.random.default_rng(None).integers(9))  # revealed: local(rng)
reveal_rank(np.random.default_rng(rank).integers(9))  # revealed: local(rng)
reveal_rank(np.random.permutation(9))  # revealed: local(rng)
