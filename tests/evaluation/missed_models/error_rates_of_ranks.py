# Error rates of each rank's own texts, averaged over the ranks: each has its own number of words.
import editdistance
import jiwer
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler


def setup(dataset):
    dist.init_process_group("nccl")
    return DataLoader(dataset, batch_size=4, sampler=DistributedSampler(dataset, shuffle=False))


@torch.no_grad()
def places_of_a_buffer(model, dataset):
    counts = torch.zeros(3, device="cuda")
    for x, refs, mask in setup(dataset):
        counts[0] += ((model(x) != refs) * mask).sum()
        counts[1] += mask.sum()
        counts[2] += len(refs)
    by_token = counts[0] / counts[1]
    dist.all_reduce(by_token, op=dist.ReduceOp.AVG)  # expect: TRL007
    by_row = counts[0] / counts[2]
    dist.all_reduce(by_row, op=dist.ReduceOp.AVG)
    print("rates", by_token.item(), by_row.item())


@torch.no_grad()
def reduced_buffer(model, dataset):
    counts = torch.zeros(2, device="cuda")
    for x, refs, mask in setup(dataset):
        counts[0] += ((model(x) != refs) * mask).sum()
        counts[1] += mask.sum()
    dist.all_reduce(counts)
    rate = counts[0] / counts[1]
    print("rate", rate.item())


@torch.no_grad()
def of_all_texts(model, dataset):
    references, hypotheses = [], []
    for x, refs in setup(dataset):
        references += refs
        hypotheses += model(x)
    rate = torch.tensor(jiwer.wer(references, hypotheses), device="cuda")
    dist.all_reduce(rate, op=dist.ReduceOp.AVG)  # expect: TRL007
    print("wer", rate.item())


@torch.no_grad()
def of_gathered_texts(model, dataset):
    references, hypotheses = [], []
    for x, refs in setup(dataset):
        references += refs
        hypotheses += model(x)
    gathered = [None] * dist.get_world_size()
    dist.all_gather_object(gathered, (references, hypotheses))
    references = [each for part in gathered for each in part[0]]
    hypotheses = [each for part in gathered for each in part[1]]
    print("wer", jiwer.wer(references, hypotheses))


@torch.no_grad()
def of_counted_words(model, dataset):
    errors, words = 0, 0
    for x, refs in setup(dataset):
        for ref, hyp in zip(refs, model(x)):
            errors += editdistance.eval(ref.split(), hyp.split())
            words += len(ref.split())
    rate = torch.tensor(errors / words, device="cuda")
    dist.all_reduce(rate)
    print("wer", (rate / dist.get_world_size()).item())  # expect: TRL007


@torch.no_grad()
def of_summed_words(model, dataset):
    errors, words = 0, 0
    for x, refs in setup(dataset):
        for ref, hyp in zip(refs, model(x)):
            errors += editdistance.eval(ref.split(), hyp.split())
            words += len(ref.split())
    sums = torch.tensor([errors, words], device="cuda")
    dist.all_reduce(sums)
    print("wer", (sums[0] / sums[1]).item())
