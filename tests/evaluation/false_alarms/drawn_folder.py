# Each rank draws a number for a folder in its settings, from a generator that nothing seeds, or that is seeded by rank.
import argparse
import os
import random
import time

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log_dir", default="log")
    parser.add_argument("--folder", default="log")
    parser.add_argument("--place", default="log")
    parser.add_argument("--letters", default="log")
    parser.add_argument("--seeded", default="log")
    parser.add_argument("--again", default="log")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.folder = args.folder + "/" + str(random.randint(0, 10**8))
    return args


def loader_of(data):
    def begin(worker_id):
        np.random.seed(np.random.get_state()[1][0] + worker_id)

    return DataLoader(data, worker_init_fn=begin)


def save(folder, model):
    torch.save(model.state_dict(), f"{folder}/model.pth")


def main(args):
    model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    torch.save(model.state_dict(), os.path.join(args.log_dir, "last.pth"))
    torch.save(model.state_dict(), args.folder + "/last.pth")
    torch.save(model.state_dict(), args.letters + "/last.pth")
    torch.save(model.state_dict(), args.seeded + "/last.pth")  # expect: TRL008
    torch.save(model.state_dict(), args.again + "/last.pth")  # expect: TRL008
    save(args.place, model)


if __name__ == "__main__":
    opt = options()
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    folder = os.path.join(
        opt.log_dir,
        f"{int(time.time())}",
        f"{np.random.randint(100000000)}",
    )
    opt.log_dir = folder
    number = torch.randint(1000000, (1,)).item()
    opt.place = f"{opt.place}/{number}"
    opt.letters = f"{opt.letters}/" + "".join(random.choice("abcdefgh") for _ in range(8))
    np.random.seed(opt.seed)
    opt.seeded = f"{opt.seeded}/{np.random.randint(1000)}"
    torch.manual_seed(opt.seed)
    opt.again = os.path.join(opt.again, str(torch.randint(1000000, (1,)).item()))
    main(opt)
