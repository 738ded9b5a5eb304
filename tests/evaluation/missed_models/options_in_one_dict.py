# A command that takes all its options in one dict gets the same ones on all ranks.
import os
import uuid

import click
from accelerate import Accelerator


class Run:
    def __init__(self, folder, fresh):
        self.accelerator = Accelerator()
        if fresh:
            os.makedirs(folder)  # expect: TRL008
        self.accelerator.wait_for_everyone()


class OwnFolder:
    def __init__(self, folder, fresh):
        self.accelerator = Accelerator()
        if fresh:
            os.makedirs(os.path.join(folder, uuid.uuid4().hex))
        self.accelerator.wait_for_everyone()


@click.group()
def cli():
    pass


@cli.command()
@click.option("--folder", required=True)
@click.option("--fresh", default=True)
def train(**options):
    Run(**options)


@cli.command()
@click.option("--folder", required=True)
@click.option("--fresh", default=True)
def train_apart(**options):
    OwnFolder(**options)


if __name__ == "__main__":
    cli()
