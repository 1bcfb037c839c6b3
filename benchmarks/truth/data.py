"""Small synthetic data in the formats that the programs read. Recipes are lists: a name, a path, and sizes."""

from __future__ import annotations

import pickle
import random
import struct
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Recipe = Sequence[Any]


def write(folder: Path, recipe: Recipe) -> None:
    """Write the data of a recipe into the folder of a program."""
    name, path, *sizes = recipe
    RECIPES[name](folder / path, *sizes)


def _digits(path: Path, train: int, test: int, name: str = "MNIST") -> None:
    raw = path / name / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    generator = random.Random(0)
    for prefix, count in (("train", train), ("t10k", test)):
        images = struct.pack(">IIII", 0x803, count, 28, 28) + generator.randbytes(count * 784)
        labels = struct.pack(">II", 0x801, count) + bytes(generator.choices(range(10), k=count))
        (raw / f"{prefix}-images-idx3-ubyte").write_bytes(images)
        (raw / f"{prefix}-labels-idx1-ubyte").write_bytes(labels)


def _cifar(path: Path, classes: int, count: int) -> None:
    import numpy as np

    folder = path / ("cifar-10-batches-py" if classes == 10 else "cifar-100-python")
    folder.mkdir(parents=True)
    generator = random.Random(0)
    parts = [*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"] if classes == 10 else ["train", "test"]
    for part in parts:
        pixels = np.frombuffer(generator.randbytes(count * 3072), dtype=np.uint8).reshape(count, 3072)
        labels = generator.choices(range(classes), k=count)
        batch = {"data": pixels, "labels": labels, "fine_labels": labels}
        (folder / part).write_bytes(pickle.dumps(batch))
    names = [str(number) for number in range(classes)]
    meta = {"label_names": names, "fine_label_names": names}
    (folder / ("batches.meta" if classes == 10 else "meta")).write_bytes(pickle.dumps(meta))


def _images(path: Path, count: int, width: int, height: int, channels: int = 3, name: str = "{}.jpg") -> None:
    """Portable pixmaps under the names of photos: libraries look at the content."""
    path.mkdir(parents=True, exist_ok=True)
    generator = random.Random(count)
    header = f"P{6 if channels == 3 else 5}\n{width} {height}\n255\n".encode()
    for number in range(count):
        size = width * height * channels
        pixels = generator.randbytes(size) if channels == 3 else bytes(generator.choices((0, 255), k=size))
        (path / name.format(number)).write_bytes(header + pixels)


def _text(path: Path, lines: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    generator = random.Random(lines)
    words = [f"word{number}" for number in range(50)]
    sentences = (" ".join(generator.choices(words, k=10)) for _ in range(lines))
    path.write_text("\n".join(sentences) + "\n", encoding="utf-8")


def _tokens(path: Path, count: int) -> None:
    path.mkdir(parents=True, exist_ok=True)
    generator = random.Random(0)
    for name in ("train.bin", "val.bin"):
        (path / name).write_bytes(struct.pack(f"<{count}H", *generator.choices(range(60), k=count)))


def _papers(path: Path, count: int) -> None:
    """The files of Cora, with other papers."""
    path.mkdir(parents=True, exist_ok=True)
    generator = random.Random(0)
    topics = ["Case_Based", "Genetic_Algorithms", "Neural_Networks", "Probabilistic_Methods", "Theory"]
    rows = ["\t".join([str(paper), *generator.choices("01", k=40), generator.choice(topics)]) for paper in range(count)]
    pairs = [f"{generator.randrange(count)}\t{paper}" for paper in range(count)]
    for name, lines in (("cora.content", rows), ("cora.cites", pairs)):
        (path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _citations(path: Path, papers: int) -> None:
    """The archive of Cora, with other papers."""
    _papers(path.parent / "cora", papers)
    with tarfile.open(path, "w:gz") as archive:
        archive.add(path.parent / "cora", "cora")


def _table(path: Path, rows: int, largest: Sequence[int], separator: str = "\t") -> None:
    """Whole numbers from 1 to the largest of each column; the first columns are different in each row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    generator = random.Random(rows)
    pairs = generator.sample(range(largest[0] * largest[1]), k=rows)
    heads = [[1 + pair // largest[1], 1 + pair % largest[1]] for pair in pairs]
    lines = [[*head, *(generator.randint(1, limit) for limit in largest[2:])] for head in heads]
    path.write_text("".join(separator.join(map(str, line)) + "\n" for line in lines), encoding="utf-8")


def _file(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


RECIPES: Mapping[str, Callable[..., None]] = {
    "digits": _digits,
    "cifar": _cifar,
    "images": _images,
    "text": _text,
    "tokens": _tokens,
    "papers": _papers,
    "citations": _citations,
    "table": _table,
    "file": _file,
}
