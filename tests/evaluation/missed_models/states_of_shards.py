# All ranks must call functions that combine the state of all ranks, or write it in parts.
import deepspeed
import torch
import torch.distributed as dist
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.distributed.fsdp import StateDictType
from transformers import Trainer


def by_hand(net, optimizer, folder):
    model = FSDP(net)
    if dist.get_rank() == 0:
        with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):  # expect: TRL006
            torch.save(model.state_dict(), f"{folder}/alone.pt")
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):
        weights = model.state_dict()
    moments = FSDP.optim_state_dict(model, optimizer)
    if dist.get_rank() == 0:
        torch.save({"model": weights, "optimizer": moments}, f"{folder}/all.pt")


def load(model, file):
    if dist.get_rank() == 0:
        with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT):
            model.load_state_dict(torch.load(file), strict=len(model.state_dict()) > 0)


def with_options(model, folder):
    options = StateDictOptions(full_state_dict=True, cpu_offload=True)
    if dist.get_rank() == 0:
        torch.save(get_model_state_dict(model, options=options), f"{folder}/alone.pt")  # expect: TRL016
    weights = get_model_state_dict(model, options=options)
    if dist.get_rank() == 0:
        torch.save(weights, f"{folder}/all.pt")


def by_an_engine(net, folder):
    engine, _, _, _ = deepspeed.initialize(model=net, config="ds.json")
    if engine.global_rank == 0:
        engine.save_checkpoint(folder)  # expect: TRL006
    engine.save_checkpoint(folder)


class Saving(Trainer):
    def log(self, logs, start_time=None):
        if self.is_world_process_zero():
            self.model_wrapped.save_checkpoint(self.args.output_dir)  # expect: TRL006
        super().log(logs, start_time)


class Storage:
    def save_checkpoint(self, folder):
        torch.save(self, f"{folder}/storage.pt")


def in_another_way(folder):
    storage = Storage()
    if dist.get_rank() == 0:
        storage.save_checkpoint(folder)
