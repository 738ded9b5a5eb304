# Ignite wraps a model where there are several processes, and runs the functions that `on` has registered.
import ignite.distributed as idist
import torch
from ignite.engine import Engine, Events

from somewhere import registry


def trainer_of(net: torch.nn.Module, update, dataset):
    net.steps = 0
    model = idist.auto_model(net)
    optimizer = idist.auto_optim(torch.optim.Adam(model.parameters()))
    trainer = Engine(update)

    @trainer.on(Events.EPOCH_COMPLETED)
    def step(engine):
        model.scheduler.step()  # expect: TRL002
        net.scheduler.step()

    @trainer.on(Events.ITERATION_COMPLETED(every=10))
    def of_settings(engine, steps=3):
        if steps > 3:
            print(model.state_dict())

    @registry.register("name")
    def never(engine):
        model.scheduler.step()

    def uncalled(engine):
        model.scheduler.step()

    if idist.get_rank() == 0:

        @trainer.on(Events.COMPLETED)  # expect: TRL006
        def gathered(engine):
            idist.barrier()

    return trainer, optimizer
