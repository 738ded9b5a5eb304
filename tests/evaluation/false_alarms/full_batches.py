# A dataloader that drops incomplete batches gives all ranks batches with the same number of rows.
from accelerate import Accelerator
from torch.utils.data import DataLoader


def train(model, dataset, args):
    accelerator = Accelerator()
    full = DataLoader(dataset, args.batch_size, drop_last=True)
    some = DataLoader(dataset, args.batch_size)
    model, full, some = accelerator.prepare(model, full, some)
    for images, labels in full:
        rows = images.shape[0]
        noise = 1 / (1 / rows - 1 / (rows * accelerator.num_processes))
        accelerator.log({"train/noise": noise})
        right = (model(images).argmax(-1) == labels).sum()
        accelerator.log({"train/accuracy": right / rows})  # expect: TRL003
    for images, _ in some:
        share = 1 / images.shape[0]
        accelerator.log({"train/share": share})  # expect: TRL003
