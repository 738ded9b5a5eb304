# Parameters are whole in a block that gathers them, and in parts again beside it.
import deepspeed
import torch.distributed as dist


def largest(weights):
    with deepspeed.zero.GatheredParameters(weights):
        return max(each.abs().max().item() for each in weights)


def after_a_block(net, folder):
    engine, _, _, _ = deepspeed.initialize(model=net, config={"zero_optimization": {"stage": 3}})
    with deepspeed.zero.GatheredParameters(list(net.parameters())):
        print(sum(each.numel() for each in net.parameters()))
    if dist.get_rank() == 0:
        engine.save_16bit_model(folder)  # expect: TRL016


def after_a_helper(net, folder):
    engine, _, _, _ = deepspeed.initialize(model=net, config={"zero_optimization": {"stage": 3}})
    print(largest(list(net.parameters())))
    if dist.get_rank() == 0:
        engine.save_16bit_model(folder)  # expect: TRL016


def inside(net, folder):
    engine, _, _, _ = deepspeed.initialize(model=net, config={"zero_optimization": {"stage": 3}})
    with deepspeed.zero.GatheredParameters(list(net.parameters())):
        if dist.get_rank() == 0:
            engine.save_16bit_model(folder)


def one_way_each(net, folder, parted):
    engine, _, _, _ = deepspeed.initialize(model=net, config={"zero_optimization": {"stage": 3}})
    if parted:
        with deepspeed.zero.GatheredParameters(list(net.parameters())):
            print(sum(each.numel() for each in net.parameters()))
    elif dist.get_rank() == 0:
        engine.save_16bit_model(folder)


def the_other_way_first(net, folder, whole):
    engine, _, _, _ = deepspeed.initialize(model=net, config={"zero_optimization": {"stage": 3}})
    if whole:
        if dist.get_rank() == 0:
            engine.save_16bit_model(folder)
    else:
        with deepspeed.zero.GatheredParameters(list(net.parameters())):
            print(sum(each.numel() for each in net.parameters()))
