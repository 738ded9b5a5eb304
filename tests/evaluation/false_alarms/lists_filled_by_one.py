# Lists that one rank fills, and the others have to get before they read them.
import torch.distributed as dist
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list, gather_object


def answers_of(accelerator: Accelerator, engine, judge, prompts, several):
    every = gather_object(prompts)
    mine = slice(accelerator.process_index * len(prompts), (accelerator.process_index + 1) * len(prompts))
    first = accelerator.process_index * len(prompts)
    if several:
        if accelerator.is_main_process:
            answers = [engine.generate(each) for each in every]
            scores, lengths, notes, marks, kept = [], [], [], [], []
            for each in answers:
                scores.append(judge(each))
                lengths.append(len(each))
                notes.append(str(each))
                marks.append(each)
                kept.append(each)
        else:
            answers = [None] * len(every)
            scores = [None] * len(every)
            lengths = [None] * len(every)
            notes = [None] * len(every)
            marks = [None] * len(every)
            kept = [None] * len(every)
        answers = broadcast_object_list(answers, from_process=0)
        broadcast_object_list(scores, from_process=0)
        both = [lengths]
        dist.broadcast_object_list(both, src=0)
        (lengths,) = both
        total = len(marks)
        if accelerator.is_main_process:
            print(notes[0])
        if kept[first] is not None:
            print("the main process")
        return answers[mine], scores[mine], lengths[mine], notes[mine], total  # expect: TRL017
    return [engine.generate(each) for each in prompts]


def shared_out(prompts, work):
    lists = [None] * 4
    if dist.get_rank() == 0:
        lists = [work(each) for each in prompts]
    out = [None]
    dist.scatter_object_list(out, lists, src=0)
    return out[0], lists[dist.get_rank()]


def never_sent(prompts, work):
    lists = [None] * 4
    if dist.get_rank() == 0:
        lists = [work(each) for each in prompts]
    return lists[dist.get_rank()]  # expect: TRL017
