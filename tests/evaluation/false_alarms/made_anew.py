# Who makes a folder on the line after it has removed the old one finds none: it is the removal that fails.
import os
import shutil
from pathlib import Path

import torch.distributed as dist


def emptied(folder):
    shutil.rmtree(folder)  # expect: TRL008
    os.makedirs(folder)


def emptied_path(folder):
    shutil.rmtree(folder)  # expect: TRL008
    Path(folder).mkdir(parents=True)


def emptied_if_there(folder):
    if os.path.exists(folder):
        shutil.rmtree(folder)  # expect: TRL008
    os.makedirs(folder)  # expect: TRL008


def emptied_in_any_case(folder):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)  # expect: TRL008


def another(folder):
    shutil.rmtree(folder)  # expect: TRL008
    os.makedirs(folder + "2")  # expect: TRL008


def main(args):
    dist.init_process_group("nccl")
    if args.reset:
        emptied(args.logs)
    emptied_path(args.cache)
    emptied_if_there(args.out)
    emptied_in_any_case(args.temporary)
    another(args.old)
