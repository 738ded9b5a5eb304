# An option that is the first rank's until a helper sets it names one file per rank; `--width 4` names one for all.
import argparse
from pathlib import Path

import torch.distributed as dist
from helpers import set_up


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rank", default=0, type=int, help="set by the launcher")
    parser.add_argument("--width", default=4, type=int)
    args = parser.parse_args()
    set_up(args)
    dist.init_process_group("nccl")
    Path(f"memory_{args.rank}.txt").write_text("done")
    Path(f"memory_{args.width}.txt").write_text("done")  # expect: TRL008


if __name__ == "__main__":
    main()
