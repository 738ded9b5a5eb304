# Each rank puts its time into the names in its settings, with the parts of a second: files so named are its own.
import argparse
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

parser = argparse.ArgumentParser()
parser.add_argument("--log_dir", default="log")
parser.add_argument("--folder", default="log")
parser.add_argument("--second", default="log")
parser.add_argument("--whole", default="log")


def main(args):
    model = DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
    torch.save(model.state_dict(), os.path.join(args.log_dir, "last.pth"))
    torch.save(model.state_dict(), args.folder + "/last.pth")
    torch.save(model.state_dict(), args.second + "/last.pth")  # expect: TRL008
    torch.save(model.state_dict(), args.whole + "/last.pth")  # expect: TRL008


opt = parser.parse_args()
dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_node_local_rank())
opt.log_dir = f"log/{time.time()}"
now = time.time_ns()
opt.folder = opt.folder + "/" + str(now)
opt.second = f"{opt.second}/{int(time.time())}"
opt.whole = f"{opt.whole}/{time.time():.0f}"
main(opt)
