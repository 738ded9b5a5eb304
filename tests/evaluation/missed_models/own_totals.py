# Scores that each rank adds up over its own share of the views, whatever computes them.
import numpy as np
import torch
import torch.distributed as dist
import wandb
from renderer import dist_avg, psnr_of, reduce_in_place, render, score_of_all


def added_up(views, rank, size):
    total, count = 0.0, 0
    for index in range(rank, len(views), size):
        image = render(views[index])
        total += psnr_of(image, views[index])
        count += 1
    return total / count


def kept(views, rank, size):
    scores = []
    for index in range(rank, len(views), size):
        value = psnr_of(render(views[index]), views[index])
        scores.append(value)
    return float(np.mean(scores))


def stacked(views, rank, size):
    total = torch.zeros(2)
    for index in range(rank, len(views), size):
        value = psnr_of(render(views[index]), views[index])
        total += torch.stack([value, torch.ones_like(value)])
    return (total[0] / total[1]).item()


def added_up_and_reduced(views, rank, size):
    total = 0.0
    for index in range(rank, len(views), size):
        total += psnr_of(render(views[index]), views[index])
    total = torch.tensor(total)
    dist.all_reduce(total)
    return total.item() / len(views)


def kept_and_gathered(views, rank, size):
    scores = []
    for index in range(rank, len(views), size):
        scores.append(psnr_of(render(views[index]), views[index]))
    parts = [None] * size
    dist.all_gather_object(parts, scores)
    return float(np.mean([each for part in parts for each in part]))


def of_all(views):
    total = 0.0
    for view in views:
        total += psnr_of(render(view), view)
    return total / len(views)


def of_other_things(views, rank, size):
    total = 0.0
    for _index in range(rank, len(views), size):
        total += score_of_all(views)
    return total


def reduced_on_the_way(views, rank, size, gather_scores):
    total = 0.0
    for index in range(rank, len(views), size):
        value = psnr_of(render(views[index]), views[index])
        total += gather_scores(value)
    return total


def averaged_on_the_way(views, rank, size):
    total = 0.0
    for index in range(rank, len(views), size):
        total += dist_avg(psnr_of(render(views[index]), views[index]))
    return total


def reduced_in_place(views, rank, size):
    total = 0.0
    for index in range(rank, len(views), size):
        value = psnr_of(render(views[index]), views[index])
        reduce_in_place(value)
        total += value
    return total


def from_another_place(views, rank, size):
    total = 0.0
    order = [(rank + number) % len(views) for number in range(len(views))]
    for index in order:
        total += psnr_of(render(views[index]), views[index])
    for index in np.roll(np.arange(len(views)), rank):
        total += psnr_of(render(views[index]), views[index])
    numbers = list(range(len(views)))
    for index in numbers[rank:] + numbers[:rank]:
        total += psnr_of(render(views[index]), views[index])
    return total


def main(views, gather_scores):
    dist.init_process_group("gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    scores = added_up(views, rank, size), kept(views, rank, size), stacked(views, rank, size)
    right = added_up_and_reduced(views, rank, size), kept_and_gathered(views, rank, size), of_all(views)
    unknown = of_other_things(views, rank, size), reduced_on_the_way(views, rank, size, gather_scores)
    reduced = averaged_on_the_way(views, rank, size), reduced_in_place(views, rank, size)
    if rank == 0:
        wandb.log({"added up": scores[0]})  # expect: TRL003
        wandb.log({"kept": scores[1]})  # expect: TRL003
        wandb.log({"stacked": scores[2]})  # expect: TRL003
        wandb.log({"right": right[0]})
        wandb.log({"right": right[1]})
        wandb.log({"right": right[2]})
        wandb.log({"unknown": unknown[0]})
        wandb.log({"unknown": unknown[1]})
        wandb.log({"reduced": reduced[0]})
        wandb.log({"reduced": reduced[1]})
        wandb.log({"of all": from_another_place(views, rank, size)})
