"""Frameworks that move the batches of data loaders to the device: which loaders they get, and what they do with them.

None of them pins memory by itself: batches are pinned only if the loader was constructed with ``pin_memory=True``
(Ignite's ``auto_dataloader`` and the loaders that the Trainer of transformers constructs are, but these are not calls
of ``DataLoader`` in user code). As of 2026 the sources say:

- Lightning 2.6, ``fabric/utilities/apply_func.py`` (``move_data_to_device``): every object with a method ``to`` is
  moved; tensors with ``non_blocking=True``, unless the device is the CPU or MPS. The Trainer calls it through
  ``transfer_batch_to_device`` (``pytorch/strategies/strategy.py``, ``pytorch/core/hooks.py``), Fabric in the loaders
  that ``setup_dataloaders`` returns (``fabric/wrappers.py``), unless ``move_to_device=False``. ``accelerator`` is
  ``"auto"`` by default in both.
- Accelerate 1.15, ``data_loader.py`` and ``utils/operations.py`` (``send_to_device``): loaders that ``prepare``
  returns are constructed again with the arguments of the given ones, and move batches, blocking unless
  ``DataLoaderConfiguration(non_blocking=True)``. ``Accelerator(cpu=True)`` and ``device_placement=False``
  switch it off.
- transformers 4.53, ``trainer.py``: ``Trainer.get_train_dataloader`` constructs a loader that pins unless
  ``dataloader_pin_memory=False``, and lets Accelerate prepare it; what a subclass returns from it is moved by
  ``_prepare_inputs``, blocking.
- Ignite 0.6, ``engine/__init__.py`` (``_prepare_batch``) and ``utils.py`` (``convert_tensor``): moves to ``device`` if
  one is given, blocking unless ``non_blocking=True``.
- poutyne 1.17, ``framework/model.py`` (``_process_input``) and ``utils.py`` (``torch_to``): moves to the device of the
  model if it has one, blocking.
"""

from __future__ import annotations

from typing import NamedTuple

Place = int | str


class Taker(NamedTuple):
    """A method that gets loaders. Arguments at the places in ``training`` are for training, others for evaluation."""

    method: str
    training: frozenset[Place] = frozenset()


class Framework(NamedTuple):
    """What a framework does with data loaders.

    ``runners`` construct the object that moves the batches, and ``takers`` are its methods that get loaders.
    ``wrappers`` are its methods that return loaders that move the batches; ``names`` is how users call such an object.
    ``bases`` are classes whose methods in ``training_hooks`` and ``evaluation_hooks`` return loaders; ``own_move`` is
    a method by which they can move batches differently. ``advice`` is how copies from pinned memory are made
    asynchronous; it is empty if they always are. ``off`` are keyword arguments of a runner, or of what
    configures it (``options``), with literals that mean that no CUDA device is used; if ``device`` is not empty, it is
    the parameter that must name one, at ``position``.
    """

    name: str
    runners: frozenset[str]
    takers: tuple[Taker, ...] = ()
    wrappers: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    bases: frozenset[str] = frozenset()
    training_hooks: frozenset[str] = frozenset()
    evaluation_hooks: frozenset[str] = frozenset()
    own_move: str = ""
    advice: str = ""
    options: frozenset[str] = frozenset()
    off: tuple[tuple[str, frozenset[object]], ...] = ()
    device: str = ""
    position: int = 0


_OTHER_ACCELERATORS = frozenset({"cpu", "mps", "tpu", "xla", "hpu", "ipu"})
_LIGHTNING_OFF: tuple[tuple[str, frozenset[object]], ...] = (
    ("accelerator", _OTHER_ACCELERATORS),
    ("gpus", frozenset({0, "0"})),
    ("tpu_cores", frozenset({1, 8})),
)
LIGHTNING = Framework(
    "Lightning",
    frozenset({"pytorch_lightning.Trainer", "pytorch_lightning.cli.LightningCLI"}),
    takers=(
        Taker("fit", frozenset({1, "train_dataloaders", "train_dataloader"})),
        Taker("validate"),
        Taker("test"),
        Taker("predict"),
    ),
    bases=frozenset(
        {
            "pytorch_lightning.LightningDataModule",
            "pytorch_lightning.LightningModule",
            "pytorch_lightning.core.LightningDataModule",
            "pytorch_lightning.core.LightningModule",
        }
    ),
    training_hooks=frozenset({"train_dataloader"}),
    evaluation_hooks=frozenset({"val_dataloader", "test_dataloader", "predict_dataloader"}),
    own_move="transfer_batch_to_device",
    off=_LIGHTNING_OFF,
)
FABRIC = Framework(
    "Fabric",
    frozenset({"pytorch_lightning.Fabric", "pytorch_lightning.fabric.Fabric", "lightning_fabric.Fabric"}),
    wrappers=frozenset({"setup_dataloaders"}),
    names=frozenset({"fabric"}),
    off=_LIGHTNING_OFF,
)
ACCELERATE = Framework(
    "Accelerate",
    frozenset({"accelerate.Accelerator"}),
    wrappers=frozenset({"prepare", "prepare_data_loader"}),
    names=frozenset({"accelerator"}),
    advice="`non_blocking=True` in its `DataLoaderConfiguration`",
    off=(("cpu", frozenset({True})), ("device_placement", frozenset({False}))),
)
TRANSFORMERS = Framework(
    "the Trainer of transformers",
    frozenset({"transformers.Trainer", "transformers.Seq2SeqTrainer", "trl.SFTTrainer"}),
    bases=frozenset({"transformers.Trainer", "transformers.Seq2SeqTrainer", "trl.SFTTrainer"}),
    training_hooks=frozenset({"get_train_dataloader"}),
    evaluation_hooks=frozenset({"get_eval_dataloader", "get_test_dataloader"}),
    own_move="_prepare_inputs",
    options=frozenset({"transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments"}),
    off=(("use_cpu", frozenset({True})), ("no_cuda", frozenset({True})), ("use_mps_device", frozenset({True}))),
)
IGNITE = Framework(
    "Ignite",
    frozenset({"ignite.engine.create_supervised_trainer"}),
    takers=(Taker("run", frozenset({0, "data"})),),
    advice="`non_blocking=True` in `create_supervised_trainer`",
    device="device",
    position=3,
)
IGNITE_EVALUATOR = Framework(
    "Ignite",
    frozenset({"ignite.engine.create_supervised_evaluator"}),
    takers=(Taker("run"),),
    advice="`non_blocking=True` in `create_supervised_evaluator`",
    device="device",
    position=2,
)
_POUTYNE_TRAINING: frozenset[Place] = frozenset({0, "train_generator"})
POUTYNE = Framework(
    "poutyne",
    frozenset({"poutyne.Model", "poutyne.framework.Model", "poutyne.ModelBundle.from_network", "poutyne.Experiment"}),
    takers=(
        Taker("fit_generator", _POUTYNE_TRAINING),
        Taker("train", _POUTYNE_TRAINING),
        Taker("evaluate_generator"),
        Taker("predict_generator"),
        Taker("test"),
    ),
    device="device",
    position=-1,
)
FRAMEWORKS = (LIGHTNING, FABRIC, ACCELERATE, TRANSFORMERS, IGNITE, IGNITE_EVALUATOR, POUTYNE)
# How the methods that return prepared loaders are called.
WRAPPERS = frozenset(method for framework in FRAMEWORKS for method in framework.wrappers)
# Identifiers of which a file has at least one if it constructs a runner, or what configures one.
RUNNER_NAMES = frozenset(
    name.rpartition(".")[2] for framework in FRAMEWORKS for name in framework.runners | framework.options
)
# The packages that define them; `lightning` is another name of `pytorch_lightning`.
PACKAGES = frozenset({"lightning"}) | {
    name.partition(".")[0] for framework in FRAMEWORKS for name in framework.runners | framework.options
}
# Functions that move a batch, whatever its structure.
MOVERS = frozenset(
    "accelerate.utils.send_to_device accelerate.utils.operations.send_to_device ignite.utils.convert_tensor "
    "pytorch_lightning.fabric.utilities.move_data_to_device pytorch_lightning.utilities.move_data_to_device".split()
)
