# Each process copies its settings with a folder that it names by its time, down to the parts of a second.
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import torch
import torch.distributed as dist


@dataclass(frozen=True)
class Config:
    out_dir: str = "out"
    run_name: str = ""
    run_dir: str = ""
    iso_dir: str = ""
    second_dir: str = ""
    given_dir: str = ""
    device_id: int = 0


def train(config, net):
    torch.save(net.state_dict(), Path(config.run_dir) / "net.pt")
    torch.save(net.state_dict(), Path(config.iso_dir) / "net.pt")
    torch.save(net.state_dict(), Path(config.second_dir) / "net.pt")  # expect: TRL008
    torch.save(net.state_dict(), Path(config.given_dir) / "net.pt")  # expect: TRL008


def main(config: Config, net):
    dist.init_process_group("nccl")
    run_name = config.run_name or datetime.now().strftime("%Y%m%d-%H%M%S-%f")
    run_dir = (Path(config.out_dir) / run_name).expanduser().resolve()
    second = datetime.now().strftime("%Y%m%d-%H%M%S")
    config = replace(config, run_name=run_name, run_dir=str(run_dir))
    config = replace(config, second_dir=f"{config.out_dir}/{second}")
    config = replace(config, iso_dir=f"{config.out_dir}/{datetime.now().isoformat()}")
    config = replace(config, given_dir=config.out_dir, device_id=dist.get_rank())
    train(config, net)
