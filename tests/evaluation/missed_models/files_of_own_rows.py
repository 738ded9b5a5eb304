# Each rank writes the files of its own rows, but names them by their number in a batch: all write the same ones.
import torch.distributed as dist
from mine import draw, path
from torch.utils.data import DataLoader, Subset
from torchvision.utils import save_image


def by_number(loader):
    for batch in loader:
        for number, image in enumerate(draw(batch)):
            save_image(image, f"by_number/{number:06d}.png")  # expect: TRL008


def by_place(loader):
    for places, batch in loader:
        for place, image in zip(places.tolist(), draw(batch)):
            save_image(image, f"by_place/{place:06d}.png")


def on_one_rank(loader):
    for batch in loader:
        if dist.get_rank() == 0:
            for number, image in enumerate(draw(batch)):
                save_image(image, f"on_one_rank/{number:06d}.png")


def main():
    dist.init_process_group("nccl")
    rank, size = dist.get_rank(), dist.get_world_size()
    rows = open(path).readlines()
    loader = DataLoader(Subset(rows, range(rank, len(rows), size)), batch_size=8)
    by_number(loader)
    by_place(loader)
    on_one_rank(loader)
    for batch in DataLoader(rows[rank::size]):
        for number in range(4):
            save_image(draw(batch), f"drawn/{number}.png")  # expect: TRL008
    dist.barrier()


main()
