# A model is not trained if all optimizers are made with the parameters of another one: its own gradients matter to
# nobody, though those of the other one go through it. It is trained if it may be a part of what they are made with.
from accelerate import Accelerator
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.optim import Adam


def compare(loader, decoder: nn.Module, scorer: nn.Module):
    accelerator = Accelerator()
    optimizer = Adam(decoder.parameters())
    decoder, optimizer, loader, scorer = accelerator.prepare(decoder, optimizer, loader, scorer)
    for batch in loader:
        found = scorer.module.features(decoder(batch))
        accelerator.backward(nn.functional.mse_loss(found, scorer.module.features(batch)))
        optimizer.step()


def compare_trained(loader, decoder: nn.Module, scorer: nn.Module):
    accelerator = Accelerator()
    optimizer = Adam(list(decoder.parameters()) + list(scorer.parameters()))
    decoder, optimizer, loader, scorer = accelerator.prepare(decoder, optimizer, loader, scorer)
    for batch in loader:
        found = scorer.module.features(decoder(batch))  # expect: TRL009
        accelerator.backward(nn.functional.mse_loss(found, batch))
        optimizer.step()


def compare_part(loader, decoder: nn.Module, scorer: nn.Module):
    accelerator = Accelerator()
    decoder.attach(scorer)
    optimizer = Adam(decoder.parameters())
    decoder, optimizer, loader, scorer = accelerator.prepare(decoder, optimizer, loader, scorer)
    for batch in loader:
        found = scorer.module.features(decoder(batch))  # expect: TRL009
        accelerator.backward(nn.functional.mse_loss(found, batch))
        optimizer.step()


def compare_wrapped(loader, decoder: nn.Module, net: nn.Module, device):
    optimizer = Adam([*decoder.parameters(), *net.parameters()])
    scorer = DistributedDataParallel(net, device_ids=[device])
    for batch in loader:
        found = scorer.module.features(decoder(batch))  # expect: TRL009
        nn.functional.mse_loss(found, batch).backward()
        optimizer.step()


def compare_whole(loader, decoder: nn.Module, scorer: nn.Module, device):
    optimizer = Adam(decoder.parameters())
    decoder = DistributedDataParallel(decoder, device_ids=[device])
    scorer = DistributedDataParallel(scorer, device_ids=[device])
    for batch in loader:
        nn.functional.mse_loss(scorer.module(decoder(batch)), batch).backward()
        optimizer.step()
