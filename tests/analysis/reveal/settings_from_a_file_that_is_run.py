"""A file that is executed in the middle of a script may rebind the script's settings."""

import torch.distributed as dist

wandb_log = False
name = "gpt"
if wandb_log:
    reveal_rank(name)  # revealed: never
exec(open("configurator.py").read())
if wandb_log:
    reveal_rank(name)  # revealed: same
eval_only = False
exec("wandb_log = True")
if eval_only:
    reveal_rank(name)  # revealed: never
dist.barrier()
