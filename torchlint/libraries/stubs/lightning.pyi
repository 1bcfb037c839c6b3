"""Lightning 2.6: the Trainer (``pytorch/loops``), hooks (``pytorch/core/hooks.py``), Fabric (``fabric/fabric.py``)."""

import torch
from torchlint_stubs import any_made, batches, moved, one_of, or_else, prepared, unknown

class LightningModule(torch.nn.Module):
    def __init__(self, *args, **kwargs):
        pass

    def configure_optimizers(self): ...
    def configure_model(self): ...
    def setup(self, stage): ...
    def on_fit_start(self): ...
    def on_train_start(self): ...
    def on_train_epoch_start(self): ...
    def on_train_batch_start(self, batch, batch_idx): ...
    def on_train_batch_end(self, outputs, batch, batch_idx): ...
    def training_step_end(self, outputs): ...
    def on_before_zero_grad(self, optimizer): ...
    def on_after_backward(self): ...
    def on_before_optimizer_step(self, optimizer): ...
    def on_train_epoch_end(self): ...
    def on_validation_epoch_start(self): ...
    def validation_step(self, batch, batch_idx): ...
    def on_validation_batch_end(self, outputs, batch, batch_idx, dataloader_idx=0): ...
    def on_validation_epoch_end(self): ...
    def test_step(self, batch, batch_idx): ...
    def on_test_batch_end(self, outputs, batch, batch_idx, dataloader_idx=0): ...
    def on_test_epoch_end(self): ...
    def training_epoch_end(self, outputs): ...
    def validation_epoch_end(self, outputs): ...
    def test_epoch_end(self, outputs): ...
    def train_dataloader(self): ...
    def val_dataloader(self): ...
    def test_dataloader(self): ...
    def predict_dataloader(self): ...
    def predict_step(self, batch, batch_idx):
        return self(batch)

    def transfer_batch_to_device(self, batch, device, dataloader_idx):
        return moved(batch, device)

    def on_before_batch_transfer(self, batch, dataloader_idx):
        return batch

    def on_after_batch_transfer(self, batch, dataloader_idx):
        return batch

    def optimizer_step(self, epoch, batch_idx, optimizer, optimizer_closure=None):
        optimizer.step()

    def log(self, name, value, **kwargs): ...
    def log_dict(self, dictionary, **kwargs): ...
    def save_hyperparameters(self, *args, **kwargs): ...
    def _assumed(self):
        _run(self, self)

class LightningDataModule:
    def __init__(self):
        pass

    def prepare_data(self): ...
    def setup(self, stage): ...
    def train_dataloader(self): ...
    def val_dataloader(self): ...
    def test_dataloader(self): ...
    def predict_dataloader(self): ...
    def save_hyperparameters(self, *args, **kwargs): ...
    def _assumed(self):
        _run(LightningModule(), self)

def _run(model, datamodule):
    trainer = any_made(Trainer)
    trainer.fit(model, datamodule=datamodule)
    trainer.test(model, datamodule=datamodule)
    trainer.predict(model, datamodule=datamodule)

class Callback:
    def on_fit_start(self, trainer, pl_module): ...
    def on_train_start(self, trainer, pl_module): ...
    def on_train_epoch_start(self, trainer, pl_module): ...
    def on_train_batch_start(self, trainer, pl_module, batch, batch_idx): ...
    def on_before_zero_grad(self, trainer, pl_module, optimizer): ...
    def on_after_backward(self, trainer, pl_module): ...
    def on_before_optimizer_step(self, trainer, pl_module, optimizer): ...
    def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx): ...
    def on_train_epoch_end(self, trainer, pl_module): ...
    def on_validation_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0): ...
    def on_validation_epoch_end(self, trainer, pl_module): ...
    def on_validation_end(self, trainer, pl_module): ...
    def on_test_batch_end(self, trainer, pl_module, outputs, batch, batch_idx, dataloader_idx=0): ...

class Trainer:
    def __init__(self, *, accelerator="auto", callbacks=None, **kwargs):
        self._device = "cpu" if accelerator == "cpu" else "cuda"
        self.callbacks = callbacks

    @classmethod
    def from_argparse_args(cls, args, **kwargs):
        return cls(**kwargs)

    def fit(
        self, model, train_dataloaders=None, val_dataloaders=None, datamodule=None, train_dataloader=None, **kwargs
    ):
        model = or_else(model, LightningModule)
        source = self._begin(model, datamodule, "fit")
        train, val = train_dataloaders, val_dataloaders
        if train_dataloaders is None:
            train = train_dataloader
        if train is None:
            train = source.train_dataloader()
        elif hasattr(train, "train_dataloader"):
            source = self._begin(model, train, "fit")
            train = source.train_dataloader()
        if val is None:
            val = source.val_dataloader()
        model.on_fit_start()
        model.on_train_start()
        if self.callbacks is not None:
            self._before_and_after(one_of(self.callbacks), model)
        for epoch in range(self.max_epochs):
            model.on_train_epoch_start()
            for index, batch in enumerate(batches(train)):
                batch = self._transferred(model, source, batch)
                model.on_train_batch_start(batch, index)
                outputs = model.training_step(batch, index)
                model.training_step_end(outputs)
                optimizer = torch.optim.SGD(model.parameters())
                model.on_before_zero_grad(optimizer)
                torch.autograd.backward(outputs)
                model.on_after_backward()
                model.on_before_optimizer_step(optimizer)
                model.optimizer_step(epoch, index, optimizer, lambda: None)
                model.on_train_batch_end(outputs, batch, index)
                if self.callbacks is not None:
                    self._in_step(one_of(self.callbacks), model, outputs, batch, index, optimizer)
            if val is not None:
                self._evaluate(model, source, val)
            model.on_train_epoch_end()
            model.training_epoch_end(unknown())

    def _begin(self, model, datamodule, stage):
        model.trainer = self
        model.setup(stage)
        model.configure_model()
        model.configure_optimizers()
        if datamodule is None:
            return model
        datamodule.trainer = self
        datamodule.prepare_data()
        datamodule.setup(stage)
        return datamodule

    def _transferred(self, model, source, batch):
        if hasattr(source, "transfer_batch_to_device"):
            model = source
        batch = model.on_before_batch_transfer(batch, 0)
        batch = model.transfer_batch_to_device(batch, self._device, 0)
        return model.on_after_batch_transfer(batch, 0)

    def _before_and_after(self, callback, model):
        callback.on_fit_start(self, model)
        callback.on_train_start(self, model)
        callback.on_train_epoch_start(self, model)
        callback.on_train_epoch_end(self, model)
        callback.on_validation_epoch_end(self, model)
        callback.on_validation_end(self, model)

    def _in_step(self, callback, model, outputs, batch, index, optimizer):
        callback.on_train_batch_start(self, model, batch, index)
        callback.on_before_zero_grad(self, model, optimizer)
        callback.on_after_backward(self, model)
        callback.on_before_optimizer_step(self, model, optimizer)
        callback.on_train_batch_end(self, model, outputs, batch, index)

    @torch.no_grad()
    def _evaluate(self, model, source, loaders):
        model.on_validation_epoch_start()
        for index, batch in enumerate(batches(loaders)):
            batch = self._transferred(model, source, batch)
            outputs = model.validation_step(batch, index)
            model.on_validation_batch_end(outputs, batch, index)
            if self.callbacks is not None:
                one_of(self.callbacks).on_validation_batch_end(self, model, outputs, batch, index)
        model.on_validation_epoch_end()
        model.validation_epoch_end(unknown())

    def validate(self, model=None, dataloaders=None, ckpt_path=None, verbose=True, datamodule=None, **kwargs):
        if model is not None:
            model = or_else(model, LightningModule)
            source = self._begin(model, datamodule, "validate")
            self._evaluate(model, source, dataloaders if dataloaders is not None else source.val_dataloader())

    @torch.no_grad()
    def test(self, model=None, dataloaders=None, ckpt_path=None, verbose=True, datamodule=None, **kwargs):
        if model is not None:
            model = or_else(model, LightningModule)
            source = self._begin(model, datamodule, "test")
            loaders = dataloaders if dataloaders is not None else source.test_dataloader()
            for index, batch in enumerate(batches(loaders)):
                batch = self._transferred(model, source, batch)
                outputs = model.test_step(batch, index)
                model.on_test_batch_end(outputs, batch, index)
            model.on_test_epoch_end()
            model.test_epoch_end(unknown())

    @torch.no_grad()
    def predict(self, model=None, dataloaders=None, datamodule=None, **kwargs):
        if model is not None:
            model = or_else(model, LightningModule)
            source = self._begin(model, datamodule, "predict")
            loaders = dataloaders if dataloaders is not None else source.predict_dataloader()
            return [
                model.predict_step(self._transferred(model, source, batch), index)
                for index, batch in enumerate(batches(loaders))
            ]

class LightningCLI:
    def __init__(self, model_class=None, datamodule_class=None, **kwargs):
        self.trainer = Trainer()
        if model_class is not None:
            self.model = model_class()
            self.datamodule = datamodule_class() if datamodule_class is not None else None
            self.trainer.fit(self.model, datamodule=self.datamodule)

class Fabric:
    def __init__(self, *, accelerator="auto", **kwargs):
        self._device = "cpu" if accelerator == "cpu" else "cuda"
        self.device = torch.device(self._device)

    def launch(self, function=None, *args, **kwargs):
        return function(self, *args, **kwargs) if function is not None else None

    def setup(self, *values, **kwargs):
        return prepared(values, True)

    def setup_module(self, module, **kwargs):
        return module

    def setup_optimizers(self, *optimizers):
        return prepared(optimizers, True)

    def setup_dataloaders(self, *loaders, move_to_device=True, **kwargs):
        return prepared(loaders, move_to_device and self._device == "cuda")

    def backward(self, loss, *args, **kwargs):
        torch.autograd.backward(loss)

    def to_device(self, value):
        return moved(value, self._device)

    def all_gather(self, data, **kwargs):
        return data

    def all_reduce(self, data, **kwargs):
        return data

    def print(self, *values, **kwargs):
        print(*values)

def move_data_to_device(batch, device):
    return moved(batch, device)
