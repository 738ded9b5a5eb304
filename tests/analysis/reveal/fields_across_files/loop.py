"""What reads the fields, of a parameter and of an attribute."""


def seed_of(opt):
    return opt.seed


def part_of(opt):
    return opt.part


def is_first(opt):
    return opt.is_first


class Loop:
    def __init__(self, model, opt):
        self.opt = opt
        self.model = model

    def seed(self):
        return self.opt.seed

    def seed_passed_on(self):
        return seed_of(self.opt)

    def seed_of_name(self):
        opt = self.opt
        return opt.seed

    def part(self):
        return self.opt.part


class Other:
    def __init__(self, opt):
        self.opt = opt

    def seed(self):
        return self.opt.seed
