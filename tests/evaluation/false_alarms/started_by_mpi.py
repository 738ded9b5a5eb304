"""A program that MPI starts: its ranks ask the communicator."""

import torch
from mpi4py import MPI


def main(model):
    comm = MPI.COMM_WORLD
    rank = comm.Get_rank()
    if MPI.COMM_WORLD.rank == 0:
        torch.save(model.state_dict(), "first.pt")
    if rank == 0:
        torch.save(model.state_dict(), "again.pt")
    comm.Barrier()
    torch.save(model.state_dict(), f"{comm.rank}.pt")
    torch.save(model.state_dict(), "all.pt")  # expect: TRL008


main(torch.nn.Linear(2, 2))
