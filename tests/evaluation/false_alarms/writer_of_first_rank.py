# The first rank alone asks the constructor for a writer, though the others make an object of the same class. If these
# ask for one, too, each rank has one.
import tensorboardX
from torch import distributed


class Log:
    def __init__(self, folder, summary):
        self.writer = None
        if summary:
            self.writer = tensorboardX.SummaryWriter(folder)


class LogOfAll:
    def __init__(self, folder, step, summary):
        self.step = step
        if summary:
            self.writer = tensorboardX.SummaryWriter(folder)  # expect: TRL008


def main(visualize):
    distributed.init_process_group(backend="nccl")
    if distributed.get_rank() == 0:
        Log("logs", summary=visualize)
        LogOfAll("runs", 1, summary=visualize)
    else:
        Log("logs", summary=False)
        LogOfAll("runs", None, summary=visualize)


if __name__ == "__main__":
    main(True)
