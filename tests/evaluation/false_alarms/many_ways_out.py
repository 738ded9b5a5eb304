# Whichever exit is taken, one barrier has been passed before it.
from accelerate import Accelerator


def filtered(accelerator, actions, apply):
    if not accelerator.is_main_process:
        if accelerator.num_processes > 1:
            accelerator.wait_for_everyone()
        return None
    left = [action for action in actions if action]
    if not left:
        if accelerator.num_processes > 1:
            accelerator.wait_for_everyone()
        return None
    if not apply(left):
        if len(left) > 3:
            print("not applied")
        if accelerator.num_processes > 1:
            accelerator.wait_for_everyone()
        return None
    if accelerator.num_processes > 1:
        accelerator.wait_for_everyone()
    return left


class Cache:
    def __init__(self, accelerator: Accelerator):
        self.accelerator = accelerator

    def finish(self, rows, done, quiet):
        if self.accelerator.is_main_process:
            if done:
                return self.accelerator.wait_for_everyone()
            if quiet:
                return self.accelerator.wait_for_everyone()
            if rows is None:
                return self.accelerator.wait_for_everyone()
            print(rows)
        return self.accelerator.wait_for_everyone()

    def finish_early(self, rows, done):
        if self.accelerator.is_main_process:
            if done:
                return None  # expect: TRL006
            print(rows)
        return self.accelerator.wait_for_everyone()

    def finish_nested(self, rows, upload, push):
        if not self.accelerator.is_main_process:
            self.accelerator.wait_for_everyone()
            return
        if upload:
            print(rows)
            if push(rows):
                self.accelerator.wait_for_everyone()
                return
        self.accelerator.wait_for_everyone()

    def finish_nested_twice(self, rows, upload, push):
        if not self.accelerator.is_main_process:
            self.accelerator.wait_for_everyone()
            return  # expect: TRL006
        if upload:
            print(rows)
            if push(rows):
                self.accelerator.wait_for_everyone()
                self.accelerator.wait_for_everyone()
                return
        self.accelerator.wait_for_everyone()
