"""Names of files from a parameter that is None where it is left out: what has items was given by somebody else."""

import cv2
import torch.distributed as dist


def checked(boxes, batch=None):
    if not (boxes[:, 2:] >= boxes[:, :2]).all():
        for i in range(len(batch["image"])):
            names = batch["name"]
            cv2.imwrite(f"wrong_{names[i]}.jpg", batch["image"][i])
            cv2.imwrite(f"wrong_{batch['name']}.jpg", batch["image"][i])
    return boxes


def drawn(boxes, name=None):
    cv2.imwrite(f"boxes_{name}.jpg", boxes)  # expect: TRL008
    return boxes


def main(boxes):
    dist.init_process_group("nccl")
    boxes = dist.all_reduce(boxes)
    return checked(boxes), drawn(boxes)
