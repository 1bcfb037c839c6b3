"""Stubs of libraries: what frameworks do with the code of programs, followed through several files."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.engine_events import events
from torchlint.config.config import Config
from torchlint.knowledge.forms import GRAPH
from torchlint.run import session
from torchlint.solution import solve

READ, COPY = "  # read", "  # copy"


def usual(files: dict[str, str]) -> list[tuple[str, int, str]]:
    """What happens in every step of training of a normal run: file, line, and kind."""
    contents = {f"{name}.py": dedent(text).encode() for name, text in files.items()}
    return [
        (event.path, event.line, event.kind)
        for event in events(contents)
        if event.phase == "training" and event.kind != GRAPH and not (event.rare or event.option or event.assumed)
    ]


def marked(files: dict[str, str]) -> list[tuple[str, int, str]]:
    """The lines with marks."""
    return [
        (f"{name}.py", number, mark.strip("# "))
        for name, text in sorted(files.items())
        for number, line in enumerate(dedent(text).splitlines(), 1)
        for mark in (READ, COPY)
        if line.endswith(mark)
    ]


LIGHTNING_MODEL = """
    import torch
    from lightning.pytorch import LightningModule

    class Net(LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def setup(self, stage):
            print(torch.ones(3, device="cuda"))

        def forward(self, x):
            return self.layer(x)

        def training_step(self, batch, batch_idx):
            x, y = batch
            loss = (self(x) - y).abs().mean()
            self.log("loss", loss)
            {step}
            return loss

        def validation_step(self, batch, batch_idx):
            self.log("loss", self(batch[0]).sum().item())

        def on_train_epoch_end(self):
            print(torch.ones(3, device="cuda"))

        def configure_optimizers(self):
            print(torch.ones(3, device="cuda"))
            return torch.optim.SGD(self.parameters(), lr=0.1)
"""
LIGHTNING_DATA = """
    import torch
    from lightning.pytorch import LightningDataModule
    from loaders import loader

    class Pairs(torch.utils.data.Dataset):
        def __getitem__(self, index):
            return torch.ones(4).cpu(), torch.ones(1)

    class Data(LightningDataModule):
        def setup(self, stage):
            self.pairs = Pairs()

        def train_dataloader(self):
            return loader(self.pairs)
"""
LIGHTNING_LOADERS = """
    from torch.utils.data import DataLoader

    def loader(pairs):
        return DataLoader(pairs, batch_size=8, num_workers=4{pin})
"""
LIGHTNING_TRAIN = """
    import lightning.pytorch as pl
    from data import Data
    from model import Net

    class Watch(pl.Callback):
        def on_train_batch_end(self, trainer, pl_module, outputs, batch, batch_idx):
            print(outputs){callback}

        def on_train_end(self, trainer, pl_module):
            print(pl_module.layer.weight)

    def main():
        trainer = pl.Trainer(max_epochs=3, callbacks=[{callbacks}]{options})
        trainer.fit(Net(), datamodule=Data()){fit}

    if __name__ == "__main__":
        main()
"""


def lightning(
    step: str = "pass", pin: str = "", callbacks: str = "", options: str = "", callback: str = "", fit: str = COPY
) -> dict[str, str]:
    return {
        "data": LIGHTNING_DATA,
        "loaders": LIGHTNING_LOADERS.replace("{pin}", pin),
        "model": LIGHTNING_MODEL.replace("{step}", step),
        "train": LIGHTNING_TRAIN.replace("{callbacks}", callbacks)
        .replace("{options}", options)
        .replace("{callback}", callback)
        .replace("{fit}", fit),
    }


def test_hooks_of_lightning_that_do_not_run_in_steps_and_the_cpu_are_innocent() -> None:
    files = lightning()
    assert usual(files) == marked(files)
    on_cpu = lightning("print(loss)", options=', accelerator="cpu"', fit="")
    assert usual(on_cpu) == marked(on_cpu) == []


def test_a_framework_that_runs_a_model_of_which_nothing_is_known_says_nothing_of_others() -> None:
    train = "import lightning.pytorch as pl\nfrom hub import model\npl.Trainer().fit(model)\n"
    assert solve({"train.py": train.encode()}).files["train.py"].reached is None
    known = solve({f"{name}.py": dedent(text).encode() for name, text in lightning().items()})
    assert known.files["train.py"].reached is not None


def test_steps_and_callbacks_of_lightning_read_batches_of_a_module_in_another_file() -> None:
    files = lightning("print(loss)" + READ, callbacks="Watch()", callback=READ)
    assert usual(files) == marked(files)


def pins(folder: Path, files: dict[str, str]) -> list[tuple[str, str]]:
    for name, text in files.items():
        (folder / f"{name}.py").write_text(dedent(text), encoding="utf-8")
    plan = session.plan(Config(select=("TL401",), preview=True))
    found = session.run(sorted(str(path) for path in folder.glob("*.py")), plan).findings
    return [(Path(finding.path).name, finding.message) for finding in found]


def test_a_loader_of_another_file_that_lightning_moves_must_pin(tmp_path: Path) -> None:
    ((name, message),) = pins(tmp_path, lightning())
    assert name == "loaders.py"
    assert "moved to the GPU by Lightning, which does not pin them, in " in message
    assert "train.py, line 15: copies" in message.replace(str(tmp_path) + "/", "")
    assert "non_blocking" not in message  # Lightning does that
    assert pins(tmp_path, lightning(pin=", pin_memory=True")) == []


TRANSFORMERS_MODEL = """
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)

        def forward(self, x, weight):
            y = self.layer(x)
            {forward}
            return y * weight
"""
TRANSFORMERS_TRAIN = """
    from dataclasses import dataclass, field

    import torch
    import transformers
    from model import Net
    from transformers import Trainer

    @dataclass
    class Arguments(transformers.TrainingArguments):
        show: bool = field(default=False)

    class Pairs(torch.utils.data.Dataset):
        def __getitem__(self, index):
            return {"x": torch.ones(4), "weight": torch.ones(1)}

    def collate(items):
        print(torch.stack([item["x"] for item in items]).sum().item())
        return {"x": torch.stack([i["x"] for i in items]), "weight": torch.stack([i["weight"] for i in items])}

    def metrics(prediction):
        return {"accuracy": prediction.predictions.mean().item()}

    class Weighted(Trainer):
        def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
            loss = model(**inputs).mean()
            if self.args.show:
                print(loss)
            {loss}
            return (loss, loss) if return_outputs else loss

        def create_optimizer(self):
            print(torch.ones(3, device="cuda"))
            return super().create_optimizer()

    def main():
        parser = transformers.HfArgumentParser((Arguments,))
        (args,) = parser.parse_args_into_dataclasses()
        trainer = Weighted(
            model=Net(), args=args, data_collator=collate, compute_metrics=metrics, train_dataset=Pairs()
        )
        trainer.train()  # copy

    main()
"""


@pytest.mark.parametrize("guilty", [False, True])
def test_the_trainer_of_transformers_runs_losses_and_models_in_steps(guilty: bool) -> None:
    read = READ if guilty else ""
    files = {
        "model": TRANSFORMERS_MODEL.replace("{forward}", f"assert y.isfinite().all(){read}" if guilty else "pass"),
        "train": TRANSFORMERS_TRAIN.replace("{loss}", f'self.log({{"loss": loss.item()}}){read}' if guilty else ""),
    }
    assert usual(files) == marked(files)


TRANSFORMERS_HOOKS = """
    import torch
    from transformers import AutoModel, Trainer, TrainerCallback

    class Norms(TrainerCallback):
        def {hook}(self, args, state, control, model=None, **kwargs):
            print(sum(p.norm() for p in model.parameters()).item()){read}

    class Losses(Trainer):
        def evaluate(self, *args, **kwargs):
            print(next(self.model.parameters()).norm().item())
            return super().evaluate(*args, **kwargs)

    def metrics(prediction):
        return {{"mean": torch.tensor(prediction.predictions, device="cuda").mean().item()}}

    model = AutoModel.from_pretrained("x")
    trainer = Losses(model=model, train_dataset=[], eval_dataset=[], compute_metrics=metrics, callbacks=[Norms()])
    trainer.train()  # copy
"""


@pytest.mark.parametrize(
    ("hook", "in_step"),
    [
        *((f"on_{when}", False) for when in ("train_begin", "epoch_end", "evaluate", "log", "save", "train_end")),
        *((f"on_{when}", True) for when in ("step_begin", "pre_optimizer_step", "optimizer_step", "step_end")),
        ("on_prediction_step", False),
    ],
)
def test_callbacks_of_transformers_run_as_often_as_their_hooks_and_metrics_once(hook: str, in_step: bool) -> None:
    files = {"train": TRANSFORMERS_HOOKS.format(hook=hook, read=READ if in_step else "")}
    assert usual(files) == marked(files)


def test_a_callback_of_transformers_sees_each_step_of_an_evaluation() -> None:
    text = TRANSFORMERS_HOOKS.format(hook="on_prediction_step", read=READ)
    happened = events({"train.py": dedent(text).encode()})
    assert [event.phase for event in happened if (event.kind, event.line) == ("read", 7)] == ["inference"]


def test_trainers_of_trl_call_the_losses_of_batches() -> None:
    files = {
        "train": """
            import torch
            from trl import DPOConfig, DPOTrainer

            class Mine(DPOTrainer):
                def get_batch_loss_metrics(self, model, batch, train_eval="train"):
                    loss = model(batch["x"]).mean()
                    return loss, {"loss": loss.item()}  # read

            trainer = Mine(torch.nn.Linear(4, 1), DPOConfig(output_dir="out"), train_dataset=[{"x": torch.ones(4)}])
            trainer.train()  # copy
        """
    }
    assert usual(files) == marked(files)


ACCELERATE = """
    import torch
    from absl import app, flags
    from accelerate import Accelerator
    from torch.utils.data import DataLoader

    FLAGS = flags.FLAGS
    flags.DEFINE_bool("debug_loss", False, "show each loss")
    _SHOW = flags.DEFINE_bool("show", False, "show each loss")

    def main(argv):
        accelerator = Accelerator({options})
        model = torch.nn.Linear(3, 4)
        optimizer = torch.optim.SGD(model.parameters())
        loader = DataLoader([torch.zeros(3)])
        model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
        for x in loader:  # copy
            x = x.to(accelerator.device)
            loss = model(x).sum()
            accelerator.backward(loss)
            optimizer.step()
            if FLAGS.debug_loss or _SHOW.value:
                accelerator.print(loss)
            {step}
        accelerator.print(loss)

    app.run(main)
"""


def test_accelerate_goes_backward_and_moves_batches_and_flags_are_off() -> None:
    innocent = {"train": ACCELERATE.replace("{step}", "").replace("{options}", "")}
    guilty = {"train": ACCELERATE.replace("{step}", "accelerator.print(loss)" + READ).replace("{options}", "")}
    not_copied = ACCELERATE.replace("  # copy", "")
    on_cpu = {"train": not_copied.replace("{step}", "accelerator.print(x)").replace("{options}", "cpu=True")}
    for files in (innocent, guilty, on_cpu):
        assert usual(files) == marked(files)


def test_fabric_moves_batches_and_goes_backward() -> None:
    files = {
        "train": """
            import torch
            from lightning.fabric import Fabric
            from torch.utils.data import DataLoader

            def train(fabric):
                model, optimizer = fabric.setup(torch.nn.Linear(3, 4), torch.optim.SGD([]))
                loader = fabric.setup_dataloaders(DataLoader([torch.zeros(3)]))
                for x in loader:  # copy
                    loss = model(x).sum()
                    fabric.backward(loss)
                    optimizer.step()
                    print(x)  # read
                print(x)

            Fabric(accelerator="cuda").launch(train)
        """
    }
    assert usual(files) == marked(files)


def test_engines_of_ignite_run_handlers_of_iterations_in_steps() -> None:
    files = {
        "train": """
            import torch
            from ignite.engine import Engine, Events, create_supervised_trainer
            from torch.utils.data import DataLoader

            model = torch.nn.Linear(3, 4).cuda()
            optimizer = torch.optim.SGD(model.parameters())
            loader = DataLoader([torch.zeros(3)], pin_memory=True)

            def update(engine, batch):
                loss = model(batch.cuda(non_blocking=True)).sum()  # copy
                loss.backward()
                optimizer.step()
                return loss.item()  # read

            trainer = Engine(update)

            @trainer.on(Events.ITERATION_COMPLETED)
            def show(engine):
                print(model.weight)  # read

            @trainer.on(Events.ITERATION_COMPLETED(every=100))
            def show_sometimes(engine):
                print(model.weight)

            @trainer.on(Events.EPOCH_COMPLETED)
            def show_at_the_end(engine):
                print(model.weight)

            trainer.run(loader, max_epochs=3)
            other = create_supervised_trainer(model, optimizer, torch.nn.functional.mse_loss, device="cuda")
            other.run(loader, max_epochs=3)  # copy
        """
    }
    assert usual(files) == marked(files)


def test_a_metric_of_torchmetrics_is_where_its_values_are() -> None:
    files = {
        "train": """
            import torch
            from torchmetrics import Accuracy, MeanMetric

            model = torch.nn.Linear(3, 4).cuda()
            there, here, mean = Accuracy(task="binary"), Accuracy(task="binary"), MeanMetric()
            for step in range(100):
                loss = model(torch.zeros(3, device="cuda")).sum()
                loss.backward()
                there.update(loss, loss)
                here.update(torch.zeros(3), torch.zeros(3))
                mean.update(step)
                print(here.compute())
                print(mean.compute())
                print(there.compute())  # read
        """
    }
    assert usual(files) == marked(files)


@pytest.mark.parametrize("call", ["fire.Fire(main)", "typer.run(main)"])
def test_parameters_of_a_function_that_a_command_line_calls_are_options(call: str) -> None:
    files = {
        "train": """
            import torch
            import {library}

            def main(path: str, show: bool = False, log: bool = True, steps=100):
                model = torch.nn.Linear(3, 4).cuda()
                for step in range(steps):
                    loss = model(torch.zeros(3, device="cuda")).sum()
                    loss.backward()
                    if show:
                        print(loss)
                    if log:
                        print(loss)  # read

            {call}
        """.replace("{call}", call).replace("{library}", call.partition(".")[0])
    }
    assert usual(files) == marked(files)
    happened = events({"train.py": dedent(files["train"]).encode()})
    assert [event.option for event in happened] == ["--show", None]


def test_functions_do_not_see_the_names_of_their_class() -> None:
    files = {
        "train": """
            import torch

            class Log:
                def print(self, value):
                    print(value)  # read

            model, log = torch.nn.Linear(3, 4).cuda(), Log()
            for step in range(100):
                loss = model(torch.zeros(3, device="cuda")).sum()
                loss.backward()
                log.print(loss)
        """
    }
    assert usual(files) == marked(files)
