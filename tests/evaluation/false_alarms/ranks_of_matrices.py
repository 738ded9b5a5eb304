# The rank of matrices is a setting that all processes share. That of a trainer is the number of its process.
import torch.distributed as dist


def save_adapters(config, folder):
    dist.barrier()


class Strategy:
    def __init__(self, config):
        self.config = config
        self.is_lora = config.lora.rank > 0
        self.is_low = config.svd_args.rank != 0

    def save(self, folder):
        if self.is_lora:
            save_adapters(self.config, folder)
        if self.is_low:
            save_adapters(self.config, folder)


class LoraLinear:
    def __init__(self, rank):
        self.rank = rank

    def merge(self):
        if self.rank > 0:
            dist.all_reduce(self.weight)


def save_on_first(lora_trainer, config):
    if lora_trainer.rank == 0:
        save_adapters(config, "adapters")  # expect: TRL006


def main(config, lora_trainer, rank):
    dist.init_process_group("nccl")
    Strategy(config).save("out")
    LoraLinear(rank).merge()
    LoraLinear(0).merge()
    save_on_first(lora_trainer, config)
