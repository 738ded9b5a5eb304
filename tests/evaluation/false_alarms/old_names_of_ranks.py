# The old names of transformers for the main process, in a trainer that is one of several.
import torch
from torch.nn.parallel import DistributedDataParallel
from trainers import PrefixTrainer, PromptTrainer
from transformers import AutoTokenizer


def main(args, model):
    tokenizer = AutoTokenizer.from_pretrained("tiny")
    model = DistributedDataParallel(model)
    trainer = PrefixTrainer(model) if args.prefix else PromptTrainer(model)
    torch.distributed.barrier()
    if trainer.is_world_master():
        tokenizer.save_pretrained("out")
    if trainer.is_ready():
        tokenizer.save_pretrained("other")
    tokenizer.save_pretrained("all")  # expect: TRL008


main(None, None)
