# A model that was frozen and is partly trained has gradients to synchronise.
from accelerate import Accelerator
from transformers import AutoModelForCausalLM


def freeze(dl):
    acc = Accelerator()
    model = AutoModelForCausalLM.from_pretrained("x")
    model.requires_grad_(False)
    for p in model.lm_head.parameters():
        p.requires_grad = True
    model = acc.prepare(model)
    inner = acc.unwrap_model(model)
    loss = inner(dl).loss  # expect: TRL009
    loss.backward()


def freeze2(dl):
    acc = Accelerator()
    model = AutoModelForCausalLM.from_pretrained("x")
    model.requires_grad_(False)
    model.lm_head.requires_grad_(True)
    model = acc.prepare(model)
    inner = acc.unwrap_model(model)
    loss = inner(dl).loss  # expect: TRL009
    loss.backward()


def freeze3(dl):
    acc = Accelerator()
    model = AutoModelForCausalLM.from_pretrained("x")
    for p in model.parameters():
        p.requires_grad = False
    model.lm_head.weight.requires_grad = True
    model = acc.prepare(model)
    inner = acc.unwrap_model(model)
    loss = inner(dl).loss  # expect: TRL009
    loss.backward()


def freeze4(dl, cfg):
    acc = Accelerator()
    model = AutoModelForCausalLM.from_pretrained("x")
    model.requires_grad_(False)
    model.add_adapter(cfg)
    model = acc.prepare(model)
    inner = acc.unwrap_model(model)
    loss = inner(dl).loss  # expect: TRL009
    loss.backward()


def freeze5(dl, cfg):
    acc = Accelerator()
    model = AutoModelForCausalLM.from_pretrained("x")
    model.requires_grad_(False)
    model = acc.prepare(model)
    inner = acc.unwrap_model(model)
    loss = inner(dl).loss
    loss.backward()


def freeze6(dl, cfg):
    from peft import get_peft_model

    acc = Accelerator()
    model = AutoModelForCausalLM.from_pretrained("x")
    model.requires_grad_(False)
    model = get_peft_model(model, cfg)
    model = acc.prepare(model)
    inner = acc.unwrap_model(model)
    loss = inner(dl).loss  # expect: TRL009
    loss.backward()
