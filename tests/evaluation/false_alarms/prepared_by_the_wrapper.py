# A forward of the wrapper prepares the next backward pass: until then, it reduces what the inner module adds, too.
import torch
import torch.distributed as dist
from somewhere import compare, contrast, make_net, rows
from torch.nn.parallel import DistributedDataParallel


def losses_of(model, images, texts, more):
    image_features, text_features = model(images, texts)
    others = model.module(more, None)
    others = others / others.norm(dim=-1, keepdim=True)
    each = []
    for text in texts:
        each.append(model.module(None, text))
    return contrast(image_features, text_features), compare(others, each)


def losses_afterwards(model, images, texts, more):
    others = model.module(more, None)  # expect: TRL009
    image_features, text_features = model(images, texts)
    return contrast(image_features, text_features), compare(others, None)


def losses_without_gradients(model, images, texts, more):
    with torch.no_grad():
        image_features, text_features = model(images, texts)
    others = model.module(more, None)  # expect: TRL009
    return contrast(image_features, text_features), compare(others, None)


def losses_if_asked(args, model, images, texts, more):
    features = None
    if args.contrast:
        features = model(images, texts)
    others = model.module(more, None)  # expect: TRL009
    return contrast(features, texts), compare(others, None)


def losses_of_another(model, other, images, texts, more):
    features = other(images, texts)
    others = model.module(more, None)  # expect: TRL009
    return contrast(features, texts), compare(others, None)


def step_by_step(model, optimizer, images, texts, more):
    contrast(model(images, texts), texts).backward()
    compare(model.module(more, None), None).backward()  # expect: TRL009
    optimizer.step()


def scaled(model, optimizer, scaler, images, texts, more):
    scaler(contrast(model(images, texts), texts), optimizer)
    compare(model.module(more, None), None).backward()  # expect: TRL009
    optimizer.step()


def in_turns(model, optimizer, images, texts, more):
    print(model(images, texts))
    for each in more:
        compare(model.module(each, None), None).backward()  # expect: TRL009
        optimizer.step()


def apart(model, optimizer, images, texts, more):
    features = model(images, texts)
    print(features)
    compare(model.module(more, None), None).backward()  # expect: TRL009
    optimizer.step()
    return features


def of_a_wrapper_made_elsewhere(model, images, texts, more):
    features = model(images, texts)
    others = model.module(more, None)
    return contrast(features, texts), compare(others, None)


def of_one_used_before(model, images, texts, more):
    contrast(model(images, texts), texts).backward()
    others = model.module(more, None)  # expect: TRL009
    return compare(others, None)


def of_one_without_gradients(model, images, texts, more):
    with torch.no_grad():
        features = model(images, texts)
    others = model.module(more, None)  # expect: TRL009
    return contrast(features, texts), compare(others, None)


def twice(model, images, texts, more):
    features = model(images, texts)  # expect: TRL009
    others = model(more, None)  # expect: TRL009
    return contrast(features, texts), compare(others, None)


def train_unwrapped():
    model = DistributedDataParallel(make_net())
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for images, texts, more in rows():
        first, second = twice(model.module, images, texts, more)
        (first + second).backward()
        optimizer.step()


def wrapped(args, model):
    if args.several:
        model = DistributedDataParallel(model)
    elif args.threads:
        model = torch.nn.DataParallel(model)
    return model


def train_elsewhere(model, optimizer):
    for images, texts, more in rows():
        first, second = of_a_wrapper_made_elsewhere(model, images, texts, more)
        (first + second + of_one_used_before(model, images, texts, more)).backward()
        first, second = of_one_without_gradients(model, images, texts, more)
        (first + second).backward()
        optimizer.step()


class Trainer:
    def __init__(self):
        self.model = DistributedDataParallel(make_net())
        self.other = DistributedDataParallel(make_net())
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1)

    def train(self):
        for images, texts in rows():
            features = self.model(images, texts)
            loss = compare(self.model.module.encoder(images), texts)
            loss = contrast(loss, features)
            loss.backward()
            self.optimizer.step()

    def train_beside_another(self):
        for images, texts in rows():
            features = self.other(images, texts)
            loss = compare(self.model.module.encoder(images), texts)  # expect: TRL009
            contrast(features, texts).backward()
            loss.backward()
            self.optimizer.step()


def main(args):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(make_net())
    other = DistributedDataParallel(make_net())
    optimizer, scaler = torch.optim.SGD(model.parameters(), 0.1), args.scaler
    for images, texts, more in rows():
        for compute in (losses_of, losses_afterwards, losses_without_gradients):
            first, second = compute(model, images, texts, more)
            (first + second).backward()
            optimizer.step()
        first, second = losses_of(model, images, texts, more)
        (first + second).backward()
        first, second = losses_afterwards(model, images, texts, more)
        (first + second).backward()
        first, second = losses_without_gradients(model, images, texts, more)
        (first + second).backward()
        first, second = losses_if_asked(args, model, images, texts, more)
        (first + second).backward()
        first, second = losses_of_another(model, other, images, texts, more)
        (first + second).backward()
        optimizer.step()
        step_by_step(model, optimizer, images, texts, more)
        scaled(model, optimizer, scaler, images, texts, more)
        in_turns(model, optimizer, images, texts, more)
        apart(model, optimizer, images, texts, more)
    train_elsewhere(wrapped(args, make_net()), optimizer)
    train_unwrapped()
    Trainer().train()
    Trainer().train_beside_another()
