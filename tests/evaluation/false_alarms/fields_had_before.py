# A field of settings that some ranks set may be there on all of them; a name that only they bind is not.
import logging
import os

import torch.distributed as dist


def make_logger(folder, local_rank=-1):
    logger = logging.getLogger(folder)
    logger.setLevel(logging.INFO if local_rank in [-1, 0] else logging.WARNING)
    return logger


def main(cfg):
    if "LOCAL_RANK" in os.environ and os.environ["LOCAL_RANK"] != -1:
        cfg.local_rank = int(os.environ["LOCAL_RANK"])
    if cfg.local_rank != -1:
        dist.init_process_group("nccl")
    logger = make_logger(cfg.output_dir, local_rank=cfg.local_rank)
    logger.info("ready")


def main_of_first(cfg):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        level = logging.INFO
        cfg.level = logging.INFO
    logging.getLogger(cfg.output_dir).setLevel(cfg.level)
    logging.getLogger().setLevel(level)  # expect: TRL017
