# Each rank asks the driver about the same GPUs, and gets the same answer; but each has another amount of memory free.
import pynvml
import torch
import torch.distributed as dist


def are_linked(numbers):
    handles = [pynvml.nvmlDeviceGetHandleByIndex(number) for number in numbers]
    for handle in handles:
        try:
            if pynvml.nvmlDeviceGetP2PStatus(handle, handles[0], pynvml.NVML_P2P_CAPS_INDEX_NVLINK):
                return False
        except pynvml.NVMLError:
            return False
    return True


def share_buffers(device):
    numbers = [torch.zeros(1, dtype=torch.int) for _ in range(dist.get_world_size())]
    dist.all_gather(numbers, torch.tensor([device.index], dtype=torch.int))
    if not are_linked([number.item() for number in numbers]):
        return
    dist.barrier()


def share_rest(number):
    handle = pynvml.nvmlDeviceGetHandleByIndex(number)
    if pynvml.nvmlDeviceGetMemoryInfo(handle).free < 1e9:
        return  # expect: TRL006
    dist.barrier()
