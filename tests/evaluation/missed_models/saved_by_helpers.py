# Helpers that write files, called under a condition on the progress of a run that was resumed.
import argparse
import os

import torch
from accelerate import Accelerator


def keep(image, args, epoch):
    torch.save(image, os.path.join(args.output_dir, f"{epoch}.pt"))  # expect: TRL008


def keep_on_main(image, args, epoch):
    torch.save(image, os.path.join(args.output_dir, f"{epoch}.main.pt"))


def keep_if_asked(image, args, epoch):
    torch.save(image, os.path.join(args.output_dir, f"{epoch}.asked.pt"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output_dir", type=str)
    parser.add_argument("--prompts", type=str, default=None)
    parser.add_argument("--every", type=int)
    parser.add_argument("--epochs", type=int)
    args = parser.parse_args()
    accelerator = Accelerator()
    first_epoch = 0
    dirs = sorted(os.listdir(args.output_dir))
    if dirs:
        first_epoch = int(dirs[-1].split("-")[1])
    for epoch in range(first_epoch, args.epochs):
        image = draw()
        if args.prompts is not None and epoch % args.every == 0:
            keep(image, args, epoch)
        if accelerator.is_main_process and epoch % args.every == 0:
            keep_on_main(image, args, epoch)
        if asked_for(epoch):
            keep_if_asked(image, args, epoch)


main()
