# A module of Lightning has a trainer: whether it has one does not ask for the number of processes.
import lightning as L


class Scored(L.LightningModule):
    def validation_step(self, batch, index):
        own = self.net(batch).mean()
        self.log_dict({"accuracy": self.gathered(own).mean()})
        self.log_dict({"length": self.gathered_by_some(own).mean()})  # expect: TRL003

    def gathered(self, tensor):
        if not hasattr(self, "trainer") or self.trainer.world_size == 1:
            return tensor
        return self.all_gather(tensor)

    def gathered_by_some(self, tensor):
        if not hasattr(self, "gathers") or self.trainer.world_size == 1:
            return tensor
        return self.all_gather(tensor)
