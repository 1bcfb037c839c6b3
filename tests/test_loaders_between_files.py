"""Rules about loaders, where the loader, its dataset and the training are in different files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_project import found

DATA = """
    import torch
    from PIL import Image
    from torch.utils.data import DataLoader, Dataset
    from torchvision.transforms.functional import to_tensor

    device = torch.device("cuda")

    class Pictures(Dataset):
        def __init__(self, paths):
            self.paths = paths

        def __len__(self):
            return len(self.paths)

        def __getitem__(self, index):
            return to_tensor(Image.open(self.paths[index]))

    class Rows(Dataset):
        def __init__(self, count):
            self.rows = torch.randn(count, 10)

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, index):
            return self.rows[index]

    class Moved(Rows):
        def __getitem__(self, index):
            return self.rows[index].to(device)

    def loader_of(dataset, workers=0, **others):
        return DataLoader(dataset, batch_size=8, num_workers=workers, **others)
"""
TRAIN = """
    import torch
    from data import Moved, Pictures, Rows, loader_of

    def main(paths):
        model = torch.nn.Linear(10, 10).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loader = {loader}
        {loop}
            loss = model(x.cuda()).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    main(open("paths").readlines())
"""
ONCE = "for x in loader:"
EPOCHS = """for epoch in range(20):
          for x in loader:"""
RESTARTS = """for step in range(1000):
            x = next(iter(loader))"""
KEPT = """batches = iter(loader)
        for step in range(1000):
            x = next(batches)"""


def findings(folder: Path, rule: str, loader: str, loop: str) -> list[tuple[str, int]]:
    """The files and lines in which a rule finds something."""
    files = {"data.py": DATA, "train.py": TRAIN.format(loader=loader, loop=loop)}
    return [(Path(finding.path).name, finding.span.line) for finding in found(folder, files, rule)]


MADE = DATA[: DATA.index("return DataLoader(")].count("\n") + 1
MOVED = DATA[: DATA.index(".to(device)")].count("\n") + 1


@pytest.mark.parametrize(
    ("rule", "loader", "loop"),
    [
        ("TL402", "loader_of(Pictures(paths), 4)", ONCE),
        ("TL402", "loader_of(Rows(100))", ONCE),
        ("TL403", "loader_of(Pictures(paths), 4)", ONCE),
        ("TL403", "loader_of(Rows(100))", ONCE),
        ("TL404", "loader_of(Pictures(paths), 4)", ONCE),
        ("TL404", "loader_of(Pictures(paths))", EPOCHS),
        ("TL404", "loader_of(Pictures(paths), 4, persistent_workers=True)", EPOCHS),
        ("TL404", "loader_of(Rows(100), 4)", EPOCHS),
        ("TL405", "loader_of(Pictures(paths), 4)", KEPT),
        ("TL405", "loader_of(Pictures(paths))", RESTARTS),
    ],
)
def test_innocent_loaders_are_silent(tmp_path: Path, rule: str, loader: str, loop: str) -> None:
    assert findings(tmp_path, rule, loader, loop) == []


@pytest.mark.parametrize(
    ("rule", "loader", "loop", "place"),
    [
        ("TL402", "loader_of(Pictures(paths))", ONCE, ("data.py", MADE)),
        ("TL403", "loader_of(Rows(100), 4)", ONCE, ("data.py", MADE)),
        ("TL404", "loader_of(Pictures(paths), 4)", EPOCHS, ("data.py", MADE)),
        ("TL405", "loader_of(Pictures(paths), 4)", RESTARTS, ("train.py", 10)),
        ("TL406", "loader_of(Moved(100), 4)", ONCE, ("data.py", MOVED)),
    ],
)
def test_what_another_file_decides_is_known(
    tmp_path: Path, rule: str, loader: str, loop: str, place: tuple[str, int]
) -> None:
    assert findings(tmp_path, rule, loader, loop) == [place]


RUNS = """
    import argparse
    import torch
    from data import Pictures, loader_of

    class Experiment:
        def __init__(self, paths, workers):
            self.paths, self.workers = paths, workers
            self.model = torch.nn.Linear(10, 10).cuda()
            self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

        def made(self):
            return loader_of(Pictures(self.paths), self.workers)

        def epoch(self, loader):
            for x in loader:
                self.model(x.cuda()).sum().backward()
                self.optimizer.step()

        def train(self):
            {before}
            for epoch in range(20):
                {first}
                self.epoch(loader)

    parser = argparse.ArgumentParser()
    parser.add_argument("--more", action="store_true")
    args = parser.parse_args()
    for run in range(3):
        {make}.train()
"""
USUAL = 'Experiment(open("paths").readlines(), 4)'


@pytest.mark.parametrize(
    ("before", "first", "make", "lines"),
    [
        ("loader = self.made()", "pass", USUAL.replace("4", "0"), []),
        ("pass", "loader = self.made()", USUAL, []),
        ("loader = self.made() if args.more else self.paths", "pass", USUAL, []),
        ("loader = self.made()", "pass", USUAL, [MADE]),
    ],
    ids=["no workers", "made in each epoch", "made with an option", "made in each run"],
)
def test_the_loop_around_the_epochs_decides_whether_a_loader_is_started_again(
    tmp_path: Path, before: str, first: str, make: str, lines: list[int]
) -> None:
    files = {"data.py": DATA, "train.py": RUNS.format(before=before, first=first, make=make)}
    assert [finding.span.line for finding in found(tmp_path, files, "TL404")] == lines
