# Commands of the shell that each rank runs on files of its own, that change nothing, or that all ranks may run.
import os
import subprocess
import tempfile

import torch
import torch.distributed as dist


def fetch(url, folder):
    os.system(f"wget -qO- {url} | tar xz -C {folder}")  # expect: TRL008


def show(folder):
    os.system(f"ls -la {folder}")
    os.system("nvidia-smi > /dev/null 2>&1")
    subprocess.run(["chmod", "-R", "a+r", folder], check=True)
    return subprocess.check_output(["git", "rev-parse", "HEAD"], text=True).strip()


def link(source, target):
    if os.path.isdir(target) or os.path.isfile(target):
        os.system(f"rm -rf {target}")  # expect: TRL008
    os.system(f"ln -s {source} {target}")


def main(args):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2))
    show(args.out)
    fetch(args.url, args.data)
    # The second one prints an error, at which nobody looks.
    os.system(f"mkdir {args.out}")
    subprocess.check_call(["mkdir", args.out])  # expect: TRL008
    subprocess.check_call(["mkdir", "-p", args.out])
    link(args.data, os.path.join(args.out, "data"))
    os.system(f"rm -rf {args.out}/shard_{rank}")
    os.system(f"rm -rf {args.out}/shard_$RANK")
    os.system(f"[ -d {args.code} ] || git clone {args.repo} {args.code}")
    with tempfile.TemporaryDirectory() as own:
        subprocess.run(["tar", "xf", args.archive, "-C", own], check=True)
        subprocess.run(["rm", "-rf", "cache"], cwd=own)
        subprocess.run(["rm", "-rf", "cache"], cwd=args.out)  # expect: TRL008
    if rank == 0:
        os.system(f"zip -r {args.out}.zip {args.out} && rm -rf {args.out}")
    return model
