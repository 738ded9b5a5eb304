"""A model that a method wraps where a setting asks for it is wrapped in the methods that run after that one."""

from somewhere import build, rows, unwrap
from torch.nn.parallel import DistributedDataParallel


class AtTheStart:
    def __init__(self, args):
        self.args = args
        self.several = args.distributed
        self.model = build(args).cuda()
        self.encode_rows()
        self.wrap()

    def wrap(self):
        if self.several:
            self.model = DistributedDataParallel(self.model, device_ids=[self.args.gpu])

    def encode_rows(self):
        self.rows = self.model.encode(rows())

    def train(self):
        for batch in rows():
            self.model.encode(batch)  # expect: TRL002
            self.model(batch).loss.backward()
        if not self.several:
            print(self.model.config)
        bare = self.model.module if self.several else self.model
        print(bare.config, unwrap(self.model).config)

    def run(self, batch):
        return self.model(batch) if self.several else self.run_alone(batch)

    def run_alone(self, batch):
        return self.model.encode(batch)

    def show_alone(self):
        if self.several:
            raise ValueError("on one GPU only")
        print(self.model.config)


class BeforeTheLoop:
    def __init__(self, args):
        self.args = args
        self.model = build(args).cuda()

    def fit(self):
        print(self.model.config)
        self.start()
        print(self.model.config)  # expect: TRL002
        self.train()

    def start(self):
        self.wrap()

    def wrap(self):
        if self.args.use_ddp:
            self.model = DistributedDataParallel(self.model)

    def train(self):
        self.model.encode(rows())  # expect: TRL002


class OneOfSeveral:
    def __init__(self, args):
        self.model = build(args)
        self.place(args)

    def place(self, args):
        if args.half:
            self.model = self.model.half()
        if args.several:
            self.model = DistributedDataParallel(self.model.cuda())
        else:
            self.model = self.model.cuda()

    def train(self):
        self.model.encode(rows())  # expect: TRL002


class TakenOffAgain:
    def __init__(self, args):
        self.model = build(args)
        self.measure(args)

    def measure(self, args):
        if args.several:
            self.model = DistributedDataParallel(self.model)
        self.model(rows())
        self.model = build(args)

    def train(self):
        self.model.encode(rows())


class ByTheProgram:
    def __init__(self, args):
        self.args = args
        self.model = build(args).cuda()

    def show(self):
        print(self.model.config)

    def wrap(self):
        if self.args.use_ddp:
            self.model = DistributedDataParallel(self.model)

    def train(self):
        self.model.encode(rows())  # expect: TRL002


def main(args):
    job = ByTheProgram(args)
    job.show()
    job.wrap()
    job.train()
