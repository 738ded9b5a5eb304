# The first rank builds a model once, and thereby downloads its file: behind a barrier, the others find it.
import os
import urllib.request

import torch
import torch.distributed as dist

URLS = {"small": "https://example.com/small.pt", "large": "https://example.com/large.pt"}


def fetched(url, folder="weights"):
    path = os.path.join(folder, os.path.basename(url))
    if os.path.isfile(path):
        return path
    with urllib.request.urlopen(url) as source, open(path, "wb") as target:
        target.write(source.read())
    return path


def fetched_at_once(url, folder="weights"):
    path = os.path.join(folder, os.path.basename(url))
    if os.path.isfile(path):
        return path
    with urllib.request.urlopen(url) as source, open(path, "wb") as target:  # expect: TRL008
        target.write(source.read())
    return path


def fetched_as_another(url, folder="weights"):
    path = os.path.join(folder, os.path.basename(url))
    if os.path.isfile(path):
        return path
    with urllib.request.urlopen(url) as source, open(path, "wb") as target:  # expect: TRL008
        target.write(source.read())
    return path


def fetched_elsewhere(url, folder="weights"):
    path = os.path.join(folder, os.path.basename(url))
    if os.path.isfile(path):
        return path
    with urllib.request.urlopen(url) as source, open(path, "wb") as target:  # expect: TRL008
        target.write(source.read())
    return path


def fetched_again(url, folder="weights"):
    path = os.path.join(folder, os.path.basename(url))
    with urllib.request.urlopen(url) as source, open(path, "wb") as target:  # expect: TRL008
        target.write(source.read())
    return path


def build(name):
    return torch.load(fetched(URLS[name]))


def build_at_once(name):
    return torch.load(fetched_at_once(URLS[name]))


def build_another(name):
    return torch.load(fetched_as_another(URLS[name]))


def build_elsewhere(name):
    return torch.load(fetched_elsewhere(URLS[name]))


def build_again(name):
    return torch.load(fetched_again(URLS[name]))


class Model(torch.nn.Module):
    def __init__(self, name):
        super().__init__()
        if dist.is_initialized():
            if dist.get_rank() == 0:
                build(name)
                build_another("small")
                build_elsewhere(name)
                build_again(name)
            dist.barrier()
            if dist.get_rank() == 0:
                build_at_once(name)
        self.net = build(name)
        self.at_once = build_at_once(name)
        self.another = build_another("large")
        self.elsewhere = build_elsewhere(name)
        self.again = build_again(name)


def main(name):
    dist.init_process_group("nccl")
    torch.cuda.set_device(dist.get_node_local_rank())
    print(build_elsewhere(name))
    return torch.nn.parallel.DistributedDataParallel(Model(name).cuda())
