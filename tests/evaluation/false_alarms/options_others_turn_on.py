# An option that is off by default, and that only the constructors of other classes turn on, is off for this class.
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
            self.run(runner)

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


class Hook:
    def __init__(self, config=None):
        config = config or dict()
        self._every = config.get("every", -1)
        self._first_only = config.get("first_only", False)

    @property
    def first_only(self):
        return self._first_only

    def is_due(self, runner):
        if self.first_only and not runner.is_main:
            return False
        return self._every > 0 and runner.count % self._every == 0

    def after(self, runner):
        if self.is_due(runner):
            self.run(runner)  # expect: TRL006

    def run(self, runner):
        pass


class Peak(Hook):
    def __init__(self, config=None):
        config = config or dict()
        config.setdefault("first_only", True)
        super().__init__(config)

    def run(self, runner):
        used = torch.tensor(float(torch.cuda.max_memory_allocated()), device="cuda")
        parts = [torch.zeros_like(used) for _ in range(runner.size)]
        dist.all_gather(parts, used)
        if runner.is_main:
            print("peak", sum(parts).item())


class Clock(Hook):
    def __init__(self, config=None):
        config = config or dict()
        config.setdefault("first_only", True)
        super().__init__(config)

    def run(self, runner):
        print("still at", runner.count)


STEPS = {"Memory": Memory, "Timer": Timer, "Peak": Peak, "Clock": Clock}


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
Runner({"Memory": {"every": 10}, "Timer": {"every": 5}, "Peak": {}, "Clock": {}}).run(100)
