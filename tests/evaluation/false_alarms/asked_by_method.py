# A batch is asked for by the method of an iterator, as older programs do: it is this rank's own all the same.
import os

import torch.distributed as dist
from PIL import Image
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def main(data, out):
    dist.init_process_group("nccl")
    loader = DataLoader(data, batch_size=1, sampler=DistributedSampler(data))
    batches = iter(loader)
    for _ in range(len(loader) // 2):
        image, name = batches.next()
        Image.fromarray(image[0].numpy()).save(os.path.join(out, name[0] + ".png"))
        image, name = batches.__next__()
        Image.fromarray(image[0].numpy()).save(os.path.join(out, name[0] + ".png"))
        Image.fromarray(image[0].numpy()).save(os.path.join(out, "last.png"))  # expect: TRL008
    names = iter(["a", "b"])
    Image.fromarray(image[0].numpy()).save(os.path.join(out, names.__next__() + ".png"))  # expect: TRL008


main(None, "out")
