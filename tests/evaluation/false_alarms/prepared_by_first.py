# The first rank makes the files of data sets alone and the others wait: also where all of them make loaders later.
import argparse
import os

import torch
import torch.distributed as dist


class Clips:
    def __init__(self, folder, split, transform=None):
        self.split = split
        self.transform = transform
        self.rows = self.load(folder)

    def load(self, folder):
        path = os.path.join(folder, f"clips-{self.split}.cache")
        if os.path.exists(path):
            return torch.load(path)
        rows = list(range(len(self.split)))
        torch.save(rows, path)
        return rows


class Frames:
    def __init__(self, folder, split, transform=None):
        self.split = split
        self.transform = transform
        self.rows = self.load(folder)

    def load(self, folder):
        path = os.path.join(folder, f"frames-{self.split}.cache")
        if os.path.exists(path):
            return torch.load(path)
        rows = list(range(len(self.split)))
        torch.save(rows, path)  # expect: TRL008
        return rows


class Texts:
    def __init__(self, folder, split, transform=None):
        self.split = split
        self.transform = transform
        self.rows = self.load(folder)

    def load(self, folder):
        path = os.path.join(folder, f"texts-{self.split}.cache")
        if os.path.exists(path):
            return torch.load(path)
        rows = list(range(len(self.split)))
        torch.save(rows, path)  # expect: TRL008
        return rows


class Sounds:
    def __init__(self, folder, split="train"):
        path = os.path.join(folder, f"sounds-{split}.cache")
        if not os.path.exists(path):
            torch.save(list(range(len(split))), path)  # expect: TRL008
        self.rows = torch.load(path)


def loader_of_clips(folder, split):
    return torch.utils.data.DataLoader(build_clips(folder, split, transform=str))


def build_clips(folder, split, transform=None):
    return Clips(folder, split, transform)


def build_frames(folder, split, transform=None):
    return Frames(folder, split, transform)


def build_texts(folder, split, transform=None):
    return Texts(folder, split, transform)


def loader_of_frames(folder, split):
    return torch.utils.data.DataLoader(build_frames(folder, split, transform=str))


def loader_of_texts(folder, split):
    return torch.utils.data.DataLoader(build_texts(folder, split, transform=str))


def loader_of_sounds(folder, split):
    return torch.utils.data.DataLoader(Sounds(folder, split))


def train(rank, folder):
    if rank == 0:
        for split in ["train", "test"]:
            build_clips(folder, split)
        build_frames(folder, "train")
        Sounds(folder)
    dist.barrier()
    if rank == 0:
        build_texts(folder, "train")
    loader_of_clips(folder, "train")
    build_clips(folder, split="train", transform=str)
    loader_of_frames(folder, "test")  # the first rank has made another file
    loader_of_texts(folder, "train")  # nobody has waited for it
    loader_of_sounds(folder, "test")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int)
    parser.add_argument("--folder")
    args = parser.parse_args()
    dist.init_process_group("nccl")
    train(args.local_rank, args.folder)
    loader_of_clips(args.folder, "test")


if __name__ == "__main__":
    main()
