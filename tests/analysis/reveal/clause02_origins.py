"""Clause 2: a local value records its origins: where it differs from."""

import os
import random
import time
from datetime import datetime
from time import perf_counter

import numpy as np
import psutil
import torch
import torch.distributed as dist
from transformers import Trainer


class Origins(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = model(**inputs).loss
        reveal_rank(loss)  # revealed: local(data)
        reveal_rank(dist.get_rank())  # revealed: local(rank)
        reveal_rank(self.accelerator.process_index)  # revealed: local(rank)
        reveal_rank(int(os.environ["RANK"]))  # revealed: local(rank)
        reveal_rank(int(os.environ.get("LOCAL_RANK", 0)))  # revealed: local(rank)
        reveal_rank(os.getenv("SLURM_PROCID"))  # revealed: local(rank)
        reveal_rank(os.environ.get("HOME"))  # revealed: same
        reveal_rank(os.getpid())  # revealed: local(rank)
        reveal_rank(time.time())  # revealed: local(clock)
        reveal_rank(perf_counter())  # revealed: local(clock)
        reveal_rank(datetime.now())  # revealed: local(clock)
        reveal_rank(torch.cuda.max_memory_allocated())  # revealed: local(memory)
        reveal_rank(torch.cuda.memory_allocated() / 2**30)  # revealed: local(memory)
        reveal_rank(torch.cuda.is_available())  # revealed: same
        reveal_rank(psutil.virtual_memory())  # revealed: local(memory)
        reveal_rank(random.random())  # revealed: local(rng)
        reveal_rank(np.random.rand(3))  # revealed: local(rng)
        reveal_rank(torch.randn(3))  # revealed: local(rng)
        reveal_rank(os.path.exists("last"))  # revealed: local(io)
        reveal_rank(os.listdir("."))  # revealed: local(io)

        start = time.time()
        step(model)
        elapsed = time.time() - start
        reveal_rank(elapsed)  # revealed: local(clock)
        reveal_rank(round(elapsed, 2))  # revealed: local(clock)
        reveal_rank(3600 / elapsed)  # revealed: local(clock)
        reveal_rank(elapsed > 60)  # revealed: local(clock)
        # Two names that contain a time: both of them do, or neither, on every rank.
        first, second = f"out/{start}", f"out/{start}/best"
        reveal_rank(first == second)  # revealed: unknown
        reveal_rank(elapsed == 60)  # revealed: local(clock)
        # Mixed: all origins are kept.
        reveal_rank(loss * elapsed)  # revealed: local(data, clock)
        reveal_rank(len(inputs["x"]) / elapsed)  # revealed: local(data, clock)
        reveal_rank(loss + dist.get_rank())  # revealed: local(data, rank)
        reveal_rank(loss + random.random())  # revealed: local(data, rng)
        reveal_rank(torch.randn_like(loss) + time.time())  # revealed: local(clock, rng)
        # Seeding returns nothing that differs.
        reveal_rank(random.seed(3))  # revealed: same
        reveal_rank(time.sleep(1))  # revealed: same
        return loss
