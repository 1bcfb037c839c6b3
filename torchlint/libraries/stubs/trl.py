"""TRL 0.19: trainers that derive from that of transformers."""

from transformers import Trainer, TrainingArguments


class SFTTrainer(Trainer): ...


class DPOTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss, metrics = self.get_batch_loss_metrics(model, inputs)
        return (loss, metrics) if return_outputs else loss

    def get_batch_loss_metrics(self, model, batch, train_eval="train"):
        outputs = model(**batch)
        return outputs.loss, {}


class KTOTrainer(DPOTrainer): ...


class CPOTrainer(DPOTrainer): ...


class ORPOTrainer(DPOTrainer): ...


class RewardTrainer(Trainer): ...


class SFTConfig(TrainingArguments): ...


class DPOConfig(TrainingArguments): ...


class KTOConfig(TrainingArguments): ...


class CPOConfig(TrainingArguments): ...


class ORPOConfig(TrainingArguments): ...


class RewardConfig(TrainingArguments): ...


class GRPOConfig(TrainingArguments): ...
