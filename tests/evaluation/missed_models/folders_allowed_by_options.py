# A folder may exist only with an option that is off by default: without it, all ranks but the first fail.
import argparse
import os
from pathlib import Path

import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--resume", default=None, type=str)
parser.add_argument("--start-from", type=str)
parser.add_argument("--again", action="store_true")
parser.add_argument("--keep", action="store_false")
parser.add_argument("--often", default=True)
parser.add_argument("--folder", required=True)
parser.add_argument("--rows", default=0, type=int)
args = parser.parse_args()

dist.init_process_group("nccl")
os.makedirs("a", exist_ok=args.resume is not None)  # expect: TRL008
os.makedirs("b", exist_ok=args.again)  # expect: TRL008
Path("c").mkdir(exist_ok=args.start_from is not None)  # expect: TRL008
os.makedirs("d", exist_ok=args.keep)
os.makedirs("e", exist_ok=not args.again)
os.makedirs("f", exist_ok=args.often)
os.makedirs("g", exist_ok=args.folder is not None)
os.makedirs("h", exist_ok=args.unknown)
os.makedirs("j", exist_ok=args.rows)  # expect: TRL008
os.makedirs("k", exist_ok=args.rows is not None)
os.makedirs("l", exist_ok=args.again is not None)
if dist.get_rank() == 0:
    os.makedirs("i", exist_ok=args.again)
