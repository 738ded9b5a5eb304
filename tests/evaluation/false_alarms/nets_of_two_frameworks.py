# A net of another framework has no wrapper of torch, and a wrapper that replaces one does not show that there is one.
import torch
import torch.distributed as dist


class Base:
    def __init__(self, options):
        self.options = options
        self.net = None

    def reset(self, devices):
        try:
            import mxnet as mx

            if isinstance(self.net, mx.gluon.Block):
                self.net.collect_params().reset_ctx(devices)
        except ImportError:
            pass
        if isinstance(self.net, (torch.nn.Module, torch.nn.DataParallel)):
            if isinstance(self.net, torch.nn.DataParallel):
                self.net = torch.nn.DataParallel(self.net.module, device_ids=devices)
                print(self.net.width)  # expect: TRL002
            self.net.to(devices[0])

    def restore(self, path):
        self.build()
        self.net.load_parameters(path)

    def build(self):
        raise NotImplementedError


class Spread:
    def __init__(self, net, devices):
        self.net = torch.nn.DataParallel(net, device_ids=devices)

    def reset(self, devices):
        import mxnet as mx

        if isinstance(self.net, mx.gluon.Block):
            self.net.collect_params().reset_ctx(devices)
        if isinstance(self.net, (torch.nn.Module, mx.gluon.Block)):
            self.net.collect_params()  # expect: TRL002
        self.net = torch.nn.DataParallel(self.net.module, device_ids=devices)

    def restore(self, path):
        self.net.load_parameters(path)  # expect: TRL002


dist.init_process_group("nccl")
