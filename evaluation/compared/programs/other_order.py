"""Another order of collectives: rank 0 sends its settings first, the others count their rows first."""

import torch
import torch.distributed as dist


def count_rows(rows):
    total = torch.tensor([len(rows)])
    dist.all_reduce(total)  # waits: 1
    return total.item()


def share_settings():
    settings = torch.zeros(3)
    dist.broadcast(settings, src=0)  # waits: 0
    return settings


def main():
    dist.init_process_group()
    rows = list(range(8 + dist.get_rank()))
    if dist.get_rank() == 0:  # cause
        share_settings()
        count_rows(rows)
    else:
        count_rows(rows)
        share_settings()
    dist.destroy_process_group()


main()
