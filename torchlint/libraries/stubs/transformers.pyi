"""transformers 4.53: the Trainer (``trainer.py``), its callbacks, and options by dataclasses."""

import torch
from torch.utils.data import DataLoader
from torchlint_stubs import array, batches, moved, one_of, options_of, unknown

from accelerate import Accelerator

class TrainingArguments:
    no_cuda = False
    use_cpu = False

    def __init__(self, *args, no_cuda=False, use_cpu=False, **kwargs):
        self.device = torch.device("cpu" if no_cuda or use_cpu else "cuda")
        self.n_gpu = 1
        self.world_size = 1

class Seq2SeqTrainingArguments(TrainingArguments): ...

class HfArgumentParser:
    def __init__(self, dataclass_types, **kwargs):
        self.dataclass_types = dataclass_types

    def parse_args_into_dataclasses(self, *args, **kwargs):
        return options_of(self.dataclass_types)

    def parse_args(self, *args, **kwargs):
        return options_of(self.dataclass_types)

    def parse_json_file(self, *args, **kwargs):
        return options_of(self.dataclass_types)

    def parse_yaml_file(self, *args, **kwargs):
        return options_of(self.dataclass_types)

    def parse_dict(self, *args, **kwargs):
        return options_of(self.dataclass_types)

class TrainerCallback:
    def on_train_begin(self, args, state, control, **kwargs): ...
    def on_epoch_begin(self, args, state, control, **kwargs): ...
    def on_epoch_end(self, args, state, control, **kwargs): ...
    def on_step_begin(self, args, state, control, **kwargs): ...
    def on_pre_optimizer_step(self, args, state, control, **kwargs): ...
    def on_optimizer_step(self, args, state, control, **kwargs): ...
    def on_substep_end(self, args, state, control, **kwargs): ...
    def on_step_end(self, args, state, control, **kwargs): ...
    def on_log(self, args, state, control, **kwargs): ...
    def on_prediction_step(self, args, state, control, **kwargs): ...
    def on_evaluate(self, args, state, control, **kwargs): ...
    def on_save(self, args, state, control, **kwargs): ...
    def on_train_end(self, args, state, control, **kwargs): ...

class EvalPrediction:
    def __init__(self):
        self.predictions = array()
        self.label_ids = array()

    def __iter__(self):
        return iter((self.predictions, self.label_ids))

class Trainer:
    def __init__(
        self,
        model=None,
        args=None,
        data_collator=None,
        train_dataset=None,
        eval_dataset=None,
        processing_class=None,
        model_init=None,
        compute_loss_func=None,
        compute_metrics=None,
        callbacks=None,
        optimizers=None,
        optimizer_cls_and_kwargs=None,
        preprocess_logits_for_metrics=None,
        tokenizer=None,
        **kwargs,
    ):
        self.model = model if model is not None else model_init()
        self.args = args if args is not None else TrainingArguments()
        self.data_collator = data_collator
        self.train_dataset = train_dataset
        self.eval_dataset = eval_dataset
        self.processing_class = processing_class if processing_class is not None else tokenizer
        self.tokenizer = self.processing_class
        self.compute_loss_func = compute_loss_func
        self.compute_metrics = compute_metrics
        self.preprocess_logits_for_metrics = preprocess_logits_for_metrics
        self.callbacks = callbacks
        self.accelerator = Accelerator()
        self.label_smoother = None
        self.optimizer = None
        self.lr_scheduler = None

    def add_callback(self, callback):
        self.callbacks = [callback]

    def get_train_dataloader(self):
        return DataLoader(self.train_dataset, collate_fn=self.data_collator, pin_memory=True)

    def get_eval_dataloader(self, eval_dataset=None):
        dataset = eval_dataset if eval_dataset is not None else self.eval_dataset
        return DataLoader(dataset, collate_fn=self.data_collator, pin_memory=True)

    def get_test_dataloader(self, test_dataset):
        return DataLoader(test_dataset, collate_fn=self.data_collator, pin_memory=True)

    def create_optimizer_and_scheduler(self, num_training_steps):
        self.create_optimizer()
        self.create_scheduler(num_training_steps, self.optimizer)

    def create_optimizer(self):
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        return self.optimizer

    def create_scheduler(self, num_training_steps, optimizer=None): ...
    def train(self, *args, **kwargs):
        loader = self.get_train_dataloader()
        self.create_optimizer_and_scheduler(unknown())
        for _epoch in range(unknown()):
            for index, inputs in enumerate(batches(loader)):
                self.training_step(self.model, inputs, unknown())
                torch.optim.AdamW(self.model.parameters()).step()
                if self.callbacks is not None:
                    self._in_step(one_of(self.callbacks))
                if index % 500 == 0:
                    self.log({"loss": 0.1})
            if self.callbacks is not None:
                self._before_and_after(one_of(self.callbacks))
            if self.eval_dataset is not None:
                self.evaluate()

    def _in_step(self, callback):
        callback.on_step_begin(self.args, unknown(), unknown(), model=self.model)
        callback.on_pre_optimizer_step(self.args, unknown(), unknown(), model=self.model)
        callback.on_optimizer_step(self.args, unknown(), unknown(), model=self.model)
        callback.on_step_end(self.args, unknown(), unknown(), model=self.model)

    def _before_and_after(self, callback):
        callback.on_train_begin(self.args, unknown(), unknown(), model=self.model)
        callback.on_epoch_begin(self.args, unknown(), unknown(), model=self.model)
        callback.on_epoch_end(self.args, unknown(), unknown(), model=self.model)
        callback.on_log(self.args, unknown(), unknown(), model=self.model)
        callback.on_evaluate(self.args, unknown(), unknown(), model=self.model)
        callback.on_save(self.args, unknown(), unknown(), model=self.model)
        callback.on_train_end(self.args, unknown(), unknown(), model=self.model)

    def training_step(self, model, inputs, num_items_in_batch=None):
        inputs = self._prepare_inputs(inputs)
        loss = self.compute_loss(model, inputs)
        self.accelerator.backward(loss)
        return loss.detach()

    def _prepare_inputs(self, inputs):
        return moved(inputs, self.args.device)

    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        outputs = model(**inputs)
        loss = self.compute_loss_func(outputs, unknown()) if self.compute_loss_func is not None else outputs.loss
        return (loss, outputs) if return_outputs else loss

    def evaluate(self, eval_dataset=None, *args, **kwargs):
        self.evaluation_loop(self.get_eval_dataloader(eval_dataset), "evaluation")
        return {"eval_loss": 0.1}

    def predict(self, test_dataset, *args, **kwargs):
        self.evaluation_loop(self.get_test_dataloader(test_dataset), "prediction")
        return EvalPrediction()

    @torch.no_grad()
    def evaluation_loop(self, dataloader, description, *args, **kwargs):
        for inputs in batches(dataloader):
            _loss, logits, labels = self.prediction_step(self.model, inputs, False)
            if self.callbacks is not None:
                one_of(self.callbacks).on_prediction_step(self.args, unknown(), unknown(), model=self.model)
            if self.preprocess_logits_for_metrics is not None:
                self.preprocess_logits_for_metrics(logits, labels)
        if self.compute_metrics is not None:
            self.compute_metrics(EvalPrediction())

    def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
        inputs = self._prepare_inputs(inputs)
        loss, outputs = self.compute_loss(model, inputs, return_outputs=True)
        return loss, outputs, outputs

    def _assumed(self):
        self.train()
        self.evaluate()
        self.predict(unknown())

    def log(self, logs, *args): ...
    def save_model(self, *args, **kwargs): ...
    def is_world_process_zero(self):
        return True

class Seq2SeqTrainer(Trainer): ...
