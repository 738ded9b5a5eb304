import torch
import torch.distributed as dist
from rows import RESUMED, ROWS, make_model
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.nn.utils import clip_grad_norm_
from torch.utils.data import DataLoader, DistributedSampler
from torch.utils.tensorboard import SummaryWriter


def train(model, loader, optimizer, resumed):
    writer = SummaryWriter() if dist.get_rank() == 0 else None
    best = kept = None
    for step, batch in enumerate(loader):
        loss = model(batch).mean()
        loss.backward()
        is_bad = not torch.isfinite(loss)
        if is_bad:
            norm = None
        else:
            norm = clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        if writer is not None and norm is not None:
            writer.add_scalar("norm", float(norm), step)

        own = None if is_bad else loss.item()
        if writer is not None and own is not None:
            writer.add_scalar("own", own, step)  # expect: TRL003

        either = None
        if not is_bad:
            either = clip_grad_norm_(model.parameters(), 1.0)
        if resumed:
            either = loss.detach()
        if writer is not None and either is not None:
            writer.add_scalar("either", either, step)  # expect: TRL003

        scaled = None
        if not is_bad:
            scaled = clip_grad_norm_(model.parameters(), 1.0)
        if scaled is not None:
            scaled = scaled * len(batch) * loss.item()
        if writer is not None and scaled is not None:
            writer.add_scalar("scaled", scaled, step)  # expect: TRL003

        if loss < 0.1:
            best = step
        if not is_bad:
            kept = clip_grad_norm_(model.parameters(), 1.0)
        if writer is not None:
            if best is not None:
                writer.add_scalar("best", best, step)  # expect: TRL003
            if kept is not None:
                writer.add_scalar("kept", kept, step)  # expect: TRL003
        optimizer.zero_grad()


def main(resumed):
    dist.init_process_group("nccl")
    model = DDP(make_model())
    loader = DataLoader(ROWS, sampler=DistributedSampler(ROWS, shuffle=False))
    train(model, loader, torch.optim.SGD(model.parameters(), 0.1), resumed)


if __name__ == "__main__":
    main(RESUMED)
