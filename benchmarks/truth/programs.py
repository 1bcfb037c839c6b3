"""The public programs that are run, and copies of their repositories with small data."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from truth import data

FOLDER = Path(__file__).resolve().parent.parent / "ground_truth"


@dataclass(frozen=True)
class Program:
    """A program: ``command`` runs in ``folder`` of the repository and is ended after ``steps`` steps.

    ``data`` says what is written first (:mod:`truth.data`), ``stubs`` which modules are replaced by one that ignores
    everything, ``path`` which folders beside it Python looks for modules in. ``unseen`` says that torchlint had not
    been run on the repository before it became part of this benchmark. ``sealed`` says that nobody has looked at what
    torchlint says about it, so that nothing is tuned to it.
    """

    name: str
    repository: str
    commit: str
    folder: str
    command: Sequence[str]
    steps: int
    data: Sequence[data.Recipe] = ()
    stubs: Sequence[str] = ()
    path: Sequence[str] = ()
    unseen: bool = False
    sealed: bool = False

    @property
    def order(self) -> dict[str, object]:
        """All that a run depends on, as it is stored."""
        order: dict[str, object] = json.loads(json.dumps(asdict(self)))
        del order["unseen"], order["sealed"]
        return order

    @property
    def checkout(self) -> str:
        """The name of the folder of the checkout."""
        return self.repository.replace("/", "+")


def read(path: Path = FOLDER / "programs.jsonl") -> list[Program]:
    """The programs of a list."""
    return [Program(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def prepare(program: Program, checkout: Path, root: Path) -> None:
    """Copy a checkout to ``root`` and write the data and modules that the program needs."""
    shutil.rmtree(root, ignore_errors=True)
    ignored = shutil.ignore_patterns(".git", "*.gif", "*.pth")
    shutil.copytree(checkout, root / "checkout", ignore=ignored)
    folder = root / "checkout" / program.folder
    for recipe in program.data:
        data.write(folder, recipe)
    stubs = root / "stubs"
    stubs.mkdir()
    for name in program.stubs:
        source = FOLDER / "stubs" / f"{name}.py"
        shutil.copy(source if source.is_file() else FOLDER / "stubs" / "anything.py", stubs / f"{name}.py")
