# Whatever a rank finds on its disk, it starts a run of a tracker; with a mode for the other ranks, that is right.
import os

import lightning.pytorch as pl
import wandb


def main(config):
    last = os.path.join(config.out, "last.ckpt")
    resumed = os.path.exists(last)
    if config.logging.is_wandb:
        if resumed:
            wandb.init(project="trees", id=config.logging.id, resume="allow")  # expect: TRL008
        elif config.logging.name:
            wandb.init(project="trees", name=config.logging.name)  # expect: TRL008
        else:
            wandb.init(project="trees")  # expect: TRL008
    if config.is_main:  # may be a test for the rank
        wandb.init(project="trees")
    trainer = pl.Trainer(devices=config.devices, strategy="ddp", logger=make_logger(resumed))
    trainer.fit(Trees(), ckpt_path=last if resumed else None)


def only_if_there(config):
    resumed = os.path.exists(os.path.join(config.out, "last.ckpt"))
    if resumed:
        wandb.init(project="trees")  # one rank may have made the file since
    else:
        print("from the beginning")
    trainer = pl.Trainer(devices=config.devices, strategy="ddp")
    trainer.fit(Trees())


def of_one_rank(config):
    chosen = os.path.exists(os.path.join(config.out, "chosen"))
    if chosen:
        wandb.init(project="trees")
    else:
        wandb.init(project="trees", mode="disabled")
    trainer = pl.Trainer(devices=config.devices, strategy="ddp")
    trainer.fit(Trees())


def by_rank(config):
    trainer = pl.Trainer(devices=config.devices, strategy="ddp")
    if trainer.is_global_zero:
        wandb.init(project="trees", name="main")
    else:
        wandb.init(project="trees", name="worker")
    trainer.fit(Trees())


class Trees(pl.LightningModule):
    def training_step(self, batch, batch_idx):
        return self.net(batch).mean()


if __name__ == "__main__":
    main(read_config())
    only_if_there(read_config())
    of_one_rank(read_config())
    by_rank(read_config())
