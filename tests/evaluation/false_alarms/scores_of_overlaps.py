# Scores of the overlap of two masks (Dice, IoU): each is the score of a sample, not a mean over the elements of a mask.
import os

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def dice(pred, mask):
    inter = (pred & mask).sum().float()
    return 2 * inter / (pred.sum() + mask.sum()).clamp_min(1)


def soft_dice(pred, mask, smooth=1e-5):
    overlap = torch.sum(pred * mask)
    size = torch.sum(pred * pred) + torch.sum(mask**2)
    return (2 * overlap + smooth) / (size + smooth)


def iou(pred, mask):
    return (pred & mask).sum().float() / (pred | mask).sum().clamp(min=1)


def jaccard(pred, mask):
    pred_in_class, mask_in_class = pred.flatten(), mask.flatten()
    inter = torch.logical_and(pred_in_class, mask_in_class).sum()
    union = pred_in_class.sum() + mask_in_class.sum() - inter
    return inter / union


def iou_of_labels(labels, mask):
    inter = ((labels > 0) * (mask > 0)).float().sum()
    union = ((labels + mask) > 0).float().sum()
    if union == 0:
        return torch.ones(1)
    return inter.float() / union.float()


def mean_of_chosen(values, mask):
    chosen = ((values > 0) * (mask > 0)).float().sum()
    return chosen / ((mask + mask) > 0).float().sum()


def precision(pred, mask):
    right = (pred & mask).sum()
    wrong = (pred & ~mask).sum()
    return right / (right + wrong)


def mean_of_masked(values, mask):
    return (values * mask).sum() / mask.sum()


def gathered(value):
    parts = [torch.zeros_like(value) for _ in range(dist.get_world_size())]
    dist.all_gather(parts, value)
    return [part.cpu().numpy() for part in parts]


def main(dataset):
    dist.init_process_group("nccl")
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    model = DistributedDataParallel(nn.Conv2d(3, 1, 3, padding=1).cuda())
    loader = DataLoader(dataset, 1, sampler=DistributedSampler(dataset, shuffle=False))
    scores = {
        "dice": [],
        "soft": [],
        "iou": [],
        "jaccard": [],
        "labels": [],
        "chosen": [],
        "precision": [],
        "masked": [],
    }
    with torch.no_grad():
        for image, mask in loader:
            out = model(image.cuda())
            pred, mask = out > 0, mask.cuda()
            scores["dice"].extend(gathered(dice(pred, mask)))
            scores["soft"].extend(gathered(soft_dice(out.sigmoid(), mask)))
            scores["iou"].extend(gathered(iou(pred, mask)))
            scores["jaccard"].extend(gathered(jaccard(pred, mask)))
            scores["labels"].extend(gathered(iou_of_labels(pred.int(), mask)))
            scores["chosen"].extend(gathered(mean_of_chosen(out, mask)))  # expect: TRL007
            scores["precision"].extend(gathered(precision(pred, mask)))  # expect: TRL007
            scores["masked"].extend(gathered(mean_of_masked(out, mask)))  # expect: TRL007
    print(np.mean(scores["dice"]), np.mean(scores["soft"]), np.mean(scores["iou"]), np.mean(scores["jaccard"]))
    print(np.mean(scores["labels"]), np.mean(scores["chosen"]), np.mean(scores["precision"]))
    print(np.mean(scores["masked"]))


if __name__ == "__main__":
    main(torch.load("data.pt"))
