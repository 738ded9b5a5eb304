# All ranks call the helper, but it writes only where the first rank sets the flag. Next to it, one that all set.
import argparse
import logging
import os

import torch.distributed as dist


def set_up_log(folder, to_file=False):
    if to_file:
        handler = logging.FileHandler(os.path.join(folder, "log.txt"), mode="w")
        logging.getLogger().addHandler(handler)
    logging.getLogger().addHandler(logging.StreamHandler())


def set_up_records(folder, level, to_file=False):
    if to_file:
        handler = logging.FileHandler(os.path.join(folder, "records.txt"), mode="w")  # expect: TRL008
        logging.getLogger("records").addHandler(handler)
    logging.getLogger("records").setLevel(level)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        set_up_log(args.folder, to_file=True)
        set_up_records(args.folder, logging.INFO, to_file=True)
    else:
        set_up_log(args.folder)
        set_up_records(args.folder, logging.WARNING, True)


if __name__ == "__main__":
    main()
