# A model whose parameters are all frozen, one after the other, is not wrapped.
from accelerate import Accelerator
from transformers import AutoModel


class Distiller:
    def __init__(self, accelerator, name):
        self.accelerator = accelerator
        self.teacher = AutoModel.from_pretrained(name)
        for parameter in self.teacher.parameters():
            parameter.requires_grad = False
        self.teacher = accelerator.prepare(self.teacher)

    def width(self):
        return self.teacher.config.hidden_size


def main(name, loader):
    accelerator = Accelerator()
    print(Distiller(accelerator, name).width())
    reference = AutoModel.from_pretrained(name)
    for _, parameter in reference.named_parameters():
        parameter.requires_grad_(False)
    critic = AutoModel.from_pretrained(name)
    for parameter in critic.parameters():
        parameter.requires_grad = False
    reference, critic, loader = accelerator.prepare(reference, critic, loader)
    print(reference.config, critic.config)
    student = AutoModel.from_pretrained(name)
    for label, parameter in student.named_parameters():
        if "head" not in label:
            parameter.requires_grad = False
    tuned = AutoModel.from_pretrained(name)
    for parameter in tuned.parameters():
        parameter.requires_grad = False
    for parameter in tuned.head.parameters():
        parameter.requires_grad = True
    student, tuned = accelerator.prepare(student, tuned)
    print(student.config)  # expect: TRL002
    print(tuned.config)  # expect: TRL002
    return reference, critic


if __name__ == "__main__":
    main("tiny", [])
