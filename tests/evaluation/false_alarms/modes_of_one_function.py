# The code of a function for one mode runs for the callers with that mode.
import torch.distributed as dist


def evaluate(scores, mode="dev"):
    if mode == "dev":
        with open("dev.txt", "a") as file:
            file.write(str(scores))
    elif mode == "test":
        with open("test.txt", "a") as file:  # expect: TRL008
            file.write(str(scores))


def main(scores):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        evaluate(scores)
    evaluate(scores, mode="test")


main([1, 2])
