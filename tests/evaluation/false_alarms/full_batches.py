# A dataloader that drops incomplete batches gives all ranks batches with the same number of rows.
from accelerate import Accelerator
from torch.nn.functional import mse_loss
from torch.utils.data import DataLoader
from webdataset import WebDataset, WebLoader


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


def count(model, dataset, args):
    accelerator = Accelerator()
    full = DataLoader(dataset, args.batch_size, drop_last=True)
    some = DataLoader(dataset, args.batch_size)
    model, full, some = accelerator.prepare(model, full, some)
    for images, labels in full:
        images, kept = images.to(accelerator.device), images[labels > 0]
        accelerator.log({"train/rows": len(images)})
        accelerator.log({"train/images": images.shape[0], "train/labels": labels.float().size(0)})
        accelerator.log({"train/kept": len(kept)})  # expect: TRL003
        accelerator.log({"train/shape": kept.shape[0]})  # expect: TRL003
    for images, _ in some:
        accelerator.log({"train/some": len(images.to(accelerator.device))})  # expect: TRL003
        accelerator.log({"bs_1gpu": len(images), "train/local_batch_size": len(images)})


def count_of_shards(model, args):
    accelerator = Accelerator()
    full = WebLoader(WebDataset(args.shards).decode().batched(8, partial=False), batch_size=None)
    some = WebLoader(WebDataset(args.shards).decode().batched(8), batch_size=None)
    model, full, some = accelerator.prepare(model, full, some)
    for batch in full:
        accelerator.log({"train/rows": len(batch["image"].to(accelerator.device))})
    for batch in some:
        accelerator.log({"train/some": len(batch["image"].to(accelerator.device))})  # expect: TRL003


def loss_of_helper(model, args):
    from own_loaders import build_loader

    accelerator = Accelerator()
    full, some = build_loader("train", drop_last=True), build_loader("train", drop_last=False)
    model, full, some = accelerator.prepare(model, full, some)
    for batch in full:
        loss = mse_loss(model(batch["image"]), batch["image"])
        accelerator.backward(loss)
        accelerator.log({"train/loss": accelerator.gather_for_metrics(loss.detach()).mean()})
    for batch in some:
        loss = mse_loss(model(batch["image"]), batch["image"])
        accelerator.backward(loss)
        accelerator.log({"train/loss": accelerator.gather_for_metrics(loss.detach()).mean()})  # expect: TRL014
