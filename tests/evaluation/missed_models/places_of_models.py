# A wrapped model in lists, dictionaries, closures and objects, and one that is replaced by its inner model.
from accelerate import Accelerator
from transformers import AutoModelForCausalLM


def unwrap(m):
    return m.module if hasattr(m, "module") else m


def places(args):
    accelerator = Accelerator()
    unet = accelerator.prepare(AutoModelForCausalLM.from_pretrained("x"))
    te = accelerator.prepare(AutoModelForCausalLM.from_pretrained("x"))
    models = [unet, te]
    models[0].config  # expect: TRL002
    for m in models:
        m.config  # expect: TRL002
    d = {"u": unet}
    d["u"].config  # expect: TRL002
    for k, m in d.items():
        m.config  # expect: TRL002
    f"{unet.config}"  # expect: TRL002
    (unet, te)[1].config  # expect: TRL002
    print([m.config for m in models])  # expect: TRL002

    def inner():
        return unet.config  # expect: TRL002

    inner()

    class Foo:
        def __init__(self, u):
            self.u = u

        def go(self):
            return self.u.config  # expect: TRL002

    Foo(unet).go()
    Other(unet).go()
    h = Holder()
    h.model = unet
    h.go()
    bare = unwrap(unet)
    bare.config
    unet = unet.module
    unet.config
    te = unwrap(te)
    te.config


class Other:
    def __init__(self, u):
        self.u = u

    def go(self):
        return self.u.config  # expect: TRL002


class Holder:
    model = None

    def go(self):
        return self.model.config  # expect: TRL002
