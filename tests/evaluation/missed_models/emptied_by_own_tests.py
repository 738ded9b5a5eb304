# Elements that pass a test of the rank's own data: on some ranks there may be none.
from accelerate.utils import gather_object
from trl import GRPOTrainer


class Keeping(GRPOTrainer):
    def _generate_and_score_completions(self, inputs):
        output = super()._generate_and_score_completions(inputs)
        scores = output["advantages"].tolist()
        hard = [row for row, score in zip(inputs, scores) if score < -1.0]
        if hard:
            self.hard = gather_object(hard)  # expect: TRL006
        low = [score for score in scores if score < -1.0]
        if not low:
            print("nothing is low")
        else:
            self.low = gather_object(low)  # expect: TRL006
        self.all = gather_object(low)
        every = [2 * score for score in scores]
        if every:
            self.every = gather_object(every)
        late = [score for score in scores if self.state.global_step > 3]
        if late:
            self.late = gather_object(late)
        found = [row for row in inputs if "solution" in row]
        if found:
            self.found = gather_object(found)
        filled = [score for score in scores if score < -1.0]
        filled.append(0.0)
        if filled:
            self.filled = gather_object(filled)
        led = [0.0] + [score for score in scores if score < -1.0]
        if led:
            self.led = gather_object(led)
        other = [score for score in scores if score < -1.0] or [0.0]
        if other:
            self.other = gather_object(other)
        more = [score for score in scores if score < -1.0]
        more += [0.0]
        if more:
            self.more = gather_object(more)
        joined = [*(score for score in scores if score < -1.0), 0.0]
        if joined:
            self.joined = gather_object(joined)
        return output


class Leaving(GRPOTrainer):
    def _generate_and_score_completions(self, inputs):
        output = super()._generate_and_score_completions(inputs)
        low = [score for score in output["advantages"].tolist() if score < -1.0]
        if not low:
            return output  # expect: TRL006
        self.low = gather_object(low)
        return output
