# Lightning calls the hooks of callbacks on every process, with the trainer, whose strategy synchronises the processes.
import pytorch_lightning as pl
from lightning.pytorch.callbacks import Callback, ModelCheckpoint


class Pictures(pl.Callback):
    def on_train_epoch_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            if trainer.logger is None:
                return  # expect: TRL006
            print("drawn")
        trainer.strategy.barrier()

    def on_train_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            print("done")
        trainer.strategy.barrier()


class Stop(Callback):
    def on_train_batch_end(self, run, module, outputs, batch, batch_idx):
        if run.global_rank == 0:
            run.should_stop = run.strategy.reduce_boolean_decision(run.should_stop)  # expect: TRL006
        run.should_stop = run.strategy.reduce_boolean_decision(run.should_stop, all=False)

    def state_dict(self, trainer):
        if trainer.is_global_zero:  # no hook: nothing is known of what has such a name
            trainer.strategy.barrier()
        return {}


class Best(ModelCheckpoint):
    def teardown(self, trainer, pl_module, stage):
        if trainer.strategy.broadcast(trainer.is_global_zero):
            trainer.strategy.barrier()


class Module(pl.LightningModule):
    def on_validation_epoch_end(self):
        if self.trainer.is_global_zero:
            self.all_gather(self.total)  # expect: TRL006
        totals = self.all_gather(self.total)
        if self.trainer.is_global_zero:
            print(totals)


class NoCallback:
    def on_train_end(self, trainer, pl_module):
        if trainer.is_global_zero:
            trainer.strategy.barrier()
