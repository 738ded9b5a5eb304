# A helper moves whatever it gets to the GPU, and wraps it only if it is asked to: what is moved alone is no model.
import torch


class Trainer:
    def __init__(self, config):
        self.device = config.devices
        self.model = self.to_device(config.build(), parallel=True)
        self.criterion = self.to_device(config.loss())

    def train(self, loader):
        for data in loader:
            images, labels = self.to_device(data["img"]), self.to_device(data["label"])
            loss = self.criterion(self.model(images), labels)
            loss.backward()
            print(labels.size(0))
        print(self.model.classes)  # expect: TRL002

    def to_device(self, m, parallel=False):
        if len(self.device) == 0:
            m = m.to("cpu")
        elif len(self.device) == 1 or not parallel:
            m = m.to(f"cuda:{self.device[0]}")
        else:
            m = m.cuda(self.device[0])
            m = torch.nn.DataParallel(m, device_ids=self.device)
        return m


Trainer(None).train([])
