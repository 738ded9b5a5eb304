"""Folders that each rank names after its own time, or makes for itself: only a checkpoint needs one for all of them."""

import os
import tempfile
from datetime import datetime
from pathlib import Path

import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from accelerate import Accelerator


def checkpoints_beside_logs(args, model):
    """ZeyuLing/HFTrainer, hftrainer/runner/accelerate_runner.py: the time is in the folder of the logs only."""
    run_dir = os.path.join(args.work_dir, datetime.now().strftime("%Y%m%d_%H%M%S"))
    accelerator = Accelerator(project_dir=run_dir)
    model = accelerator.prepare(model)
    accelerator.save_state(os.path.join(args.work_dir, "checkpoint-1"))


def checkpoints_of_time(args, model):
    run_dir = os.path.join(args.work_dir, datetime.now().strftime("%Y%m%d_%H%M%S"))
    accelerator = Accelerator(project_dir=run_dir)
    model = accelerator.prepare(model)
    accelerator.save_state(os.path.join(run_dir, "checkpoint-1"))  # expect: TRL026


def saved_by_first(args, model):
    """losehu/QuaDreamer, train_svd_tracklet.py: the first rank alone saves the state."""
    args.output_dir = os.path.join(args.output_dir, datetime.now().strftime("%Y-%m-%d-%H-%M-%S"))
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    if accelerator.is_main_process:
        accelerator.save_state(os.path.join(args.output_dir, "checkpoint-1"))


def temporary_folder_of_first(state):
    """pufanyi/vbvr-rl, scripts/dev/validate_wan_tensor_parallel.py: the first rank makes the folder for all."""
    dist.init_process_group("nccl")
    folder = [tempfile.mkdtemp(prefix="parts-") if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folder, src=0)
    dcp.save(state, checkpoint_id=folder[0])


def temporary_folder_of_each(state, folder):
    """swarajnanda2021/Dinov2_modified, training/checkpoint_fsdp2.py: only the folder of the first rank is kept."""
    dist.init_process_group("nccl")
    temporary = Path(tempfile.mkdtemp(dir=folder))
    dcp.save(state, storage_writer=dcp.FileSystemWriter(temporary))  # expect: TRL026
    if dist.get_rank() == 0:
        temporary.rename(Path(folder) / "last")
    dist.barrier()
