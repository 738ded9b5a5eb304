"""What a registry gives that is filled out of sight."""

from . import registry


def made(options):
    kinds = {}
    for name, settings in options.items():
        Loss = registry.LOSSES[settings["type"]]
        kinds[name] = Loss(**settings["args"])
    return kinds


def main(options, inputs):
    total = 0
    for kind in made(options).values():
        total += kind(inputs).mean()
    reveal_rank(total)  # revealed: unknown
