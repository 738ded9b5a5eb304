# An integer that is read from a text is no metric, with a default and without.
import logging

import torch
from accelerate import Accelerator

logger = logging.getLogger(__name__)


def parsed(text):
    index = 0
    for word in text.split(","):
        if word.startswith("index="):
            index = int(word.split("=")[1])
    return index


def show(model, clips):
    for clip in clips:
        index = parsed(clip["text"]) if clip["text"] else None
        loss = model(clip["frames"]).mean().item()  # expect: TRL006
    logger.info(f"the last clip began at {index}")
    logger.info(f"its loss was {loss}")  # expect: TRL003


def main(model, clips):
    accelerator = Accelerator()
    model = accelerator.prepare(model)
    with torch.no_grad(), accelerator.split_between_processes(clips) as own:
        show(model, own)
