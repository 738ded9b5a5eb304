# A server is asked by one process, a model is run by several: the program calls the function that chooses.
import json
import sys

from accelerate import Accelerator


class Answers:
    def __init__(self, path, model=None):
        self.path, self.model = path, model

    def forward(self, rows):
        with open(self.path, "w") as file:  # expect: TRL008
            json.dump([str(each) for each in rows], file)


class AnswersOfServer(Answers):
    def forward(self, rows):
        answers = [self.ask(each) for each in rows]
        with open(self.path, "w") as file:
            json.dump(answers, file)

    def ask(self, row):
        return str(row)


def main(kind, model, rows):
    if kind == "model":
        accelerator = Accelerator()
        answers = Answers("answers.json", accelerator.prepare(model))
        answers.forward(rows)
        accelerator.wait_for_everyone()
    else:
        answers = AnswersOfServer("answers.json")
        answers.forward(rows)


if __name__ == "__main__":
    main(sys.argv[1], None, sys.argv[2:])
