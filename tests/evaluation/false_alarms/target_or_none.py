# Where there is no target, the size of its head is read from the model: only the bare one is used without a target.
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler


def predicted(model, image, target):
    if target is not None:
        rows, channels = target.shape
    else:
        rows = len(image)
        channels = model.head.out_features
    print(rows)
    return model(image).view(-1, channels)


def predicted_without(model, image, target):
    if target is None:
        rows = len(image)
        channels = model.head.out_features  # expect: TRL002
    else:
        rows, channels = target.shape
    print(rows)
    return model(image).view(-1, channels)


def validate(model, loader, others, device):
    for image, target in loader:
        image, target = image.to(device), target.to(device, non_blocking=True)
        predicted(model, image, target)
        predicted_without(model, image, None)
    for other in others:
        for image, target in other:
            target = target.cuda()
            if target.dim() == 4:
                target = (target[:, :, 0::2] + target[:, :, 1::2]) / 2.0
            predicted(model, image, target)


def show(make, path, rows):
    model = make()
    model.load_state_dict(torch.load(path))
    for image, target in rows:
        predicted(model, image, None if path == "spring" else target)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(2, 2)

    def forward(self, image):
        return self.head(image)


def main(rows, others, device):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(Net().to(device))
    loader = DataLoader(rows, sampler=DistributedSampler(rows))
    validate(model, loader, others, device)


if __name__ == "__main__":
    main([(torch.ones(2), torch.ones(2))], [], torch.device("cuda"))
    show(Net, "spring", [])
