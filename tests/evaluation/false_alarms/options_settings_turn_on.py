# An option that the settings of the program turn on may be on for any class, whatever constructors turn it on too.
import torch
import torch.distributed as dist


class Step:
    def __init__(self, config=None):
        config = config or dict()
        self._every = config.get("every", -1)
        self._main_only = config.get("main_only", False)

    @property
    def main_only(self):
        return self._main_only

    def is_due(self, runner):
        if self.main_only and not runner.is_main:
            return False
        return self._every > 0 and runner.count % self._every == 0

    def after(self, runner):
        if self.is_due(runner):
            self.run(runner)  # expect: TRL006

    def run(self, runner):
        pass


class Memory(Step):
    def run(self, runner):
        used = torch.tensor(float(torch.cuda.memory_allocated()), device="cuda")
        parts = [torch.zeros_like(used) for _ in range(runner.size)]
        dist.all_gather(parts, used)
        if runner.is_main:
            print("memory", sum(parts).item())


class Timer(Step):
    def __init__(self, config=None):
        config = config or dict()
        config.setdefault("main_only", True)
        super().__init__(config)

    def run(self, runner):
        print("now at", runner.count)


STEPS = {"Memory": Memory, "Timer": Timer}


class Runner:
    def __init__(self, config):
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()
        self.count = 0
        self.steps = [STEPS[name](each) for name, each in config.items()]

    @property
    def is_main(self):
        return self.rank == 0

    def run(self, total):
        for self.count in range(total):
            for each in self.steps:
                each.after(self)


dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank() % torch.cuda.device_count())
Runner({"Memory": {"every": 10, "main_only": True}, "Timer": {"every": 5}}).run(100)
