"""Rank 1 connects to a server that does not exist; the message is that of a rank that has lost another one."""

import socket

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if dist.get_rank() == 1:
    with socket.socket() as port:
        port.bind(("127.0.0.1", 0))
        socket.create_connection(port.getsockname(), timeout=5)  # cause
dist.all_reduce(torch.ones(1))
