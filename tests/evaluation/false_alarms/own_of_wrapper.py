# An attribute that code sets on a wrapper exists there, and an object without `module` is no wrapper.
from accelerate import Accelerator
from transformers import AutoModel


def main(name, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(AutoModel.from_pretrained(name), loader)
    model.rows = 0
    for batch in loader:
        model.rows += len(batch)
    print(model.rows)
    print(model.seen)  # expect: TRL002
    model.seen = 0
    try:
        model.module.save_pretrained("out")  # expect: TRL008
    except AttributeError:
        model.save_pretrained("out")
    try:
        print(name.lower())
    except AttributeError:
        print(model.config)  # expect: TRL002


def named_before(name, loader):
    accelerator = Accelerator()
    model = AutoModel.from_pretrained(name)
    model.rows = 0
    model, loader = accelerator.prepare(model, loader)
    print(model.rows)  # expect: TRL002


if __name__ == "__main__":
    main("tiny", [])
