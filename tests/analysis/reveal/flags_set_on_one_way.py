"""A flag that a method sets on one way keeps on the others what it had: neither outcome of a test of it is certain."""


class Flag:
    off = False

    def __init__(self):
        self.on = False
        self.name = None

    def by_if(self, score):
        if score > 5:
            self.on = True
        return self.on

    def by_elif(self, score):
        if score > 5:
            pass
        elif score > 2:
            self.on = True
        return self.on

    def by_return(self, score):
        if score > 5:
            self.on = True
        if self.on:
            return True
        return False

    def by_for(self, scores):
        for score in scores:
            self.on = True
        return self.on

    def by_break(self, scores):
        for score in scores:
            if score > 5:
                self.on = True
                break
        return self.on

    def by_while(self, score):
        while score > 3:
            self.on = True
            score -= 1
        return self.on

    def by_try(self, path):
        try:
            open(path)
            self.on = True
        except OSError:
            pass
        return self.on

    def by_match(self, score):
        match score:
            case 5:
                self.on = True
        return self.on

    def by_class(self, score):
        if score > 5:
            self.off = True
        return self.off

    def named(self, score):
        if score > 5:
            self.name = "best"
        return self.name == "best"

    def by_both(self, score):
        if score > 5:
            self.on = True
        else:
            self.on = True
        return self.on

    def anyway(self, score):
        self.on = True
        if score > 5:
            self.name = "best"
        return self.on


def ask(score, scores, path):
    flag = Flag()
    if not flag.by_if(score):
        reveal_rank(score)  # revealed: unknown
    if not flag.by_elif(score):
        reveal_rank(score)  # revealed: unknown
    if not flag.by_return(score):
        reveal_rank(score)  # revealed: unknown
    if not flag.by_for(scores):
        reveal_rank(score)  # revealed: unknown
    if not flag.by_break(scores):
        reveal_rank(score)  # revealed: unknown
    if not flag.by_while(score):
        reveal_rank(score)  # revealed: unknown
    if not flag.by_try(path):
        reveal_rank(score)  # revealed: unknown
    if not flag.by_match(score):
        reveal_rank(score)  # revealed: unknown
    if not flag.by_class(score):
        reveal_rank(score)  # revealed: unknown
    if not flag.named(score):
        reveal_rank(score)  # revealed: unknown
    if not flag.by_both(score):
        reveal_rank(score)  # revealed: never
    if not flag.anyway(score):
        reveal_rank(score)  # revealed: never


def start(score, scores, path):
    ask(score, scores, path)
