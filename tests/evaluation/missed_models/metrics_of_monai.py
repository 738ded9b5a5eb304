# A metric of MONAI's gathers what all ranks have added when its result is asked for.
import torch
import torch.distributed as dist
from monai.data import DataLoader
from monai.inferers import sliding_window_inference
from monai.metrics import DiceMetric, MeanIoU
from monai.utils import evenly_divisible_all_gather
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler
from torch.utils.tensorboard import SummaryWriter


class NoWriter:
    def add_scalar(self, *args):
        pass


def fill(model, loader, metric):
    metric.reset()
    with torch.no_grad():
        for batch in loader:
            metric(y_pred=sliding_window_inference(batch["image"], (96, 96, 96), 4, model.module), y=batch["label"])


def result_on_one_rank(model, loader, rank):
    metric = DiceMetric(include_background=False)
    fill(model, loader, metric)
    if rank == 0:
        print(metric.aggregate().item())  # expect: TRL006


def shown_on_one_rank(model, loader, rank):
    metric = MeanIoU()
    fill(model, loader, metric)
    score = metric.aggregate().item()
    if rank == 0:
        print(score)
    metric.reset()


def asked_again_on_one_rank(model, loader, rank):
    metric = DiceMetric()
    fill(model, loader, metric)
    score = metric.aggregate().item()
    if rank == 0:
        print(score, metric.aggregate("mean_batch"))


def best_of_all(model, loader, best):
    metric = DiceMetric(get_not_nans=True)
    fill(model, loader, metric)
    score, _ = metric.aggregate()
    if score.item() > best:
        dist.barrier()
    return score


def gathered_on_one_rank(volumes, rank):
    if rank == 0:
        return evenly_divisible_all_gather(volumes)  # expect: TRL006
    return None


def mean_of_own_samples(model, loader, writer, epoch):
    metric = DiceMetric(include_background=False)
    scores = []
    for batch in loader:
        scores.append(metric(y_pred=model(batch["image"]), y=batch["label"]).mean())
    metric.reset()
    own = torch.stack(scores).mean()
    writer.add_scalar("own dice", own, epoch)  # expect: TRL003
    dist.all_reduce(own, op=dist.ReduceOp.AVG)
    writer.add_scalar("dice", own, epoch)


def of_the_same_samples(image, label, writer, epoch):
    metric = DiceMetric(include_background=False)
    writer.add_scalar("dice of an example", metric(y_pred=image, y=label).mean(), epoch)


def main(rows, net):
    dist.init_process_group("nccl")
    rank = dist.get_rank()
    model = DistributedDataParallel(net.cuda())
    loader = DataLoader(rows, sampler=DistributedSampler(rows, shuffle=False))
    result_on_one_rank(model, loader, rank)
    shown_on_one_rank(model, loader, rank)
    asked_again_on_one_rank(model, loader, rank)
    best_of_all(model, loader, 0.5)
    writer = SummaryWriter() if rank == 0 else NoWriter()
    mean_of_own_samples(model, loader, writer, 0)
    of_the_same_samples(torch.ones(1, 2, 8, 8, 8), torch.ones(1, 2, 8, 8, 8), writer, 0)
    gathered_on_one_rank(torch.ones(3, device="cuda"), rank)


main([], torch.nn.Conv3d(1, 2, 3))
