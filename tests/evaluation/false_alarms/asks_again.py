# A rank that starts an endless loop over before it has met the others in it misses nothing; else it does.
import torch
import torch.distributed as dist


def talk(device):
    while True:
        if dist.get_rank() == 0:
            text = input("> ")
            if text == "":
                continue
            if text == "seed":
                torch.manual_seed(int(input("seed > ")))
                continue
            length = torch.tensor([len(text)], device=device)
        else:
            length = torch.zeros(1, dtype=torch.long, device=device)
        dist.barrier()
        dist.broadcast(length, 0)


def after_barrier(device):
    while True:
        dist.barrier()
        if dist.get_rank() == 0:
            text = input("> ")
            if text == "":
                continue  # expect: TRL006
            length = torch.tensor([len(text)], device=device)
        else:
            length = torch.zeros(1, dtype=torch.long, device=device)
        dist.broadcast(length, 0)


def of_texts(texts, device):
    for text in texts:
        if dist.get_rank() == 0:
            if text == "":
                continue  # expect: TRL006
            length = torch.tensor([len(text)], device=device)
        else:
            length = torch.zeros(1, dtype=torch.long, device=device)
        dist.barrier()
        dist.broadcast(length, 0)


def until_told(device):
    turns = 0
    while True:
        turns += 1
        if turns > 8:
            break
        if dist.get_rank() == 0:
            text = input("> ")
            if text == "":
                continue  # expect: TRL006
            length = torch.tensor([len(text)], device=device)
        else:
            length = torch.zeros(1, dtype=torch.long, device=device)
        dist.broadcast(length, 0)


def until_all_are_told(device):
    while True:
        ended = torch.zeros(1, dtype=torch.long, device=device)
        if dist.get_rank() == 0:
            text = input("> ")
            if text == "quit":
                ended += 1
            if text == "":
                continue
        dist.all_reduce(ended)
        dist.barrier()
        if ended > 0:
            break


def in_eight_turns(device):
    turns = 0
    while True:
        turns += 1
        if dist.get_rank() == 0:
            text = input("> ")
            if text == "":
                continue  # expect: TRL006
        dist.barrier()
        if turns > 8:
            break


def main(kind, texts):
    dist.init_process_group("nccl")
    device = torch.device("cuda", torch.cuda.current_device())
    if kind == "texts":
        of_texts(texts, device)
    elif kind == "told":
        until_told(device)
    elif kind == "after":
        after_barrier(device)
    elif kind == "all":
        until_all_are_told(device)
    elif kind == "eight":
        in_eight_turns(device)
    else:
        talk(device)


if __name__ == "__main__":
    main("talk", [])
