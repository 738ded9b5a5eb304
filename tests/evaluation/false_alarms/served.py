# The main process serves requests: the function that it passes to the server broadcasts to the loop of the others.
import torch
import torch.distributed as dist
from pytriton.triton import Triton


class Server:
    def infer(self, **inputs):
        dist.broadcast(torch.ones(1), 0)
        return inputs

    def serve(self):
        if dist.get_rank() == 0:
            with Triton() as triton:
                triton.bind(model_name="reward", infer_func=self.infer)
                triton.serve()
        else:
            while True:
                dist.broadcast(torch.zeros(1), 0)

    def serve_nothing(self):
        if dist.get_rank() == 0:
            with Triton() as triton:
                triton.serve()
        else:
            while True:
                dist.broadcast(torch.zeros(1), 0)  # expect: TRL006
