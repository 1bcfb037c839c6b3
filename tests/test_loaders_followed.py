"""What following programs tells of loaders, of wrappers that move what models get, and of loops that take batches."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_project import found

STEP = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    data = TensorDataset(torch.randn(64, 10), torch.randn(64, 10))
"""
NET = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(10, 10)

        def forward(self, x):
            x = x.cuda()
            print(x.max().item())
            return self.layer(x)
"""
WRAPPED = (
    STEP
    + """
    from net import Net

    def main():
        model = {wrapped}
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in DataLoader(data, batch_size=4, num_workers=2):
            model(x).sum().backward()
            optimizer.step()

    main()
"""
)
FETCHING = (
    STEP
    + """
    def main():
        device = torch.device("cuda")
        model = nn.Linear(10, 10).to(device)
        optimizers = [torch.optim.SGD(model.parameters(), lr=0.1), torch.optim.Adam(model.parameters())]
        iterator = {iterator}
        {loop}
            x, y = {taken}
            x = x.to(device, non_blocking=True)
            print(x.mean().item())
            for optimizer in optimizers:
                optimizer.zero_grad()
                (model(x) - y.to(device, non_blocking=True)).pow(2).mean().backward()
                optimizer.step()

    def batches(loader):
        while True:
            yield from loader

    main()
"""
)
EPOCHS = (
    STEP
    + """
    def main():
        device = torch.device("cuda")
        model = nn.Linear(10, 10).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loader, others = DataLoader(data, pin_memory=True), DataLoader(data, pin_memory=True)
        for epoch in range(10):
            shown = next(iter(others))[0].to(device)
            print(model(shown).mean().item())
            for x, y in loader:
                (model(x.to(device, non_blocking=True)) - 1).pow(2).mean().backward()
                optimizer.step()

    main()
"""
)
DEFAULT_DEVICE = """
    import torch
    from net import Net

    def main():
        {chosen}
        model = Net()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(100):
            model(torch.randn(4, 10, device="cuda")).sum().backward()
            optimizer.step()

    main()
"""
DRAWING = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(10, 10)

        def forward(self, x):
            noise = torch.randn(4, 10).to(x.device)
            return self.layer(x) + noise + torch.tensor([0.1, 0.7]).cuda().sum()
"""


def lines(folder: Path, files: dict[str, str], *rules: str) -> list[tuple[str, int, str]]:
    return [(Path(f.path).name, f.span.line, f.rule) for f in found(folder, files, *rules)]


def read_lines(folder: Path, text: str) -> list[int]:
    return [line for _, line, _ in lines(folder, {"train.py": text}, "TL301")]


MOVING = [
    "nn.DataParallel(Net()).cuda()",
    "nn.parallel.DistributedDataParallel(Net().cuda(), device_ids=[0])",
    "torch.distributed.fsdp.FullyShardedDataParallel(Net().cuda())",
]


@pytest.mark.parametrize("wrapped", MOVING)
def test_a_wrapper_has_moved_what_the_model_gets_and_its_loader_should_pin(tmp_path: Path, wrapped: str) -> None:
    files = {"train.py": WRAPPED.format(wrapped=wrapped), "net.py": NET}
    assert lines(tmp_path, files, "TL202", "TL301", "TL401") == [("net.py", 12, "TL301"), ("train.py", 13, "TL401")]
    (about_loader,) = found(tmp_path, files, "TL401")
    assert "moved to the GPU by the wrapper of the model, which does not pin them, on line 14" in about_loader.message


@pytest.mark.parametrize("wrapped", ["Net().cuda()", "nn.parallel.DistributedDataParallel(Net().cuda())"])
def test_a_model_that_moves_its_input_itself_copies_it(tmp_path: Path, wrapped: str) -> None:
    files = {"train.py": WRAPPED.format(wrapped=wrapped), "net.py": NET}
    assert ("net.py", 11, "TL202") in lines(tmp_path, files, "TL202", "TL301")


@pytest.mark.parametrize("moved", ["batch[0].to(accelerator.device)", "batch[0].cuda()"])
@pytest.mark.parametrize("prepared", [False, True])
def test_a_prepared_loader_in_a_container_has_moved_its_batches(tmp_path: Path, prepared: bool, moved: str) -> None:
    train = f"""
    from accelerate import Accelerator

    def main():
        accelerator = Accelerator()
        model = nn.Linear(10, 10).to(accelerator.device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        loaders = {{"train": DataLoader(data, num_workers=2, pin_memory=True)}}
        {'loaders["train"] = accelerator.prepare_data_loader(loaders["train"])' if prepared else ""}
        for batch in loaders["train"]:
            accelerator.backward(model({moved}).sum())
            optimizer.step()

    main()
"""
    assert lines(tmp_path, {"train.py": STEP + train}, "TL202") == ([] if prepared else [("train.py", 17, "TL202")])


@pytest.mark.parametrize("loop", ["while True:", "for step in range(1000):"])
@pytest.mark.parametrize(
    ("iterator", "taken"),
    [
        ("iter(DataLoader(data, pin_memory=True))", "next(iterator)"),
        ("batches(DataLoader(data, pin_memory=True))", "next(iterator)"),
        ("iter(DataLoader(data, pin_memory=True))", "iterator.__next__()"),
    ],
)
def test_a_loop_that_takes_a_batch_and_steps_in_an_inner_loop_makes_training_steps(
    tmp_path: Path, loop: str, iterator: str, taken: str
) -> None:
    assert read_lines(tmp_path, FETCHING.format(loop=loop, iterator=iterator, taken=taken)) == [16]


def test_what_an_epoch_takes_once_is_no_step(tmp_path: Path) -> None:
    assert read_lines(tmp_path, EPOCHS) == []


@pytest.mark.parametrize("chosen", ["torch.set_default_device('cuda')", "pass"])
def test_tensors_on_the_default_device_of_another_file_are_not_copied(tmp_path: Path, chosen: str) -> None:
    files = {"main.py": DEFAULT_DEVICE.format(chosen=chosen), "net.py": DRAWING}
    expected = [] if chosen != "pass" else [("net.py", 11, "TL104")]  # which shows line 12
    assert [each for each in lines(tmp_path, files, "TL1", "TL202") if each[0] == "net.py"] == expected


def test_tensors_of_a_data_set_on_the_default_device_are_not_copied(tmp_path: Path) -> None:
    train = """
    def main():
        {chosen}
        model = nn.Linear(10, 10).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in DataLoader(TensorDataset(torch.randn(64, 10), torch.randn(64, 10)), pin_memory=True):
            (model(x.cuda()) - y.cuda()).pow(2).mean().backward()
            optimizer.step()

    main()
"""
    texts = [STEP + train.format(chosen=chosen) for chosen in ("pass", "torch.set_default_device('cuda')")]
    assert [lines(tmp_path, {"train.py": text}, "TL202") for text in texts] == [[("train.py", 13, "TL202")], []]


CHOSEN = """
    from torch.utils.data import DataLoader

    def first(data):
        return DataLoader(data, num_workers=2{first})

    def second(data):
        return DataLoader(data, num_workers=2{second})

    def chosen(data, name):
        if name == "first":
            return first(data)
        return second(data)
"""
CHOOSING = (
    STEP
    + """
    import sys
    from loaders import chosen, first, second

    def step(model, optimizer, x, y):
        (model(x.cuda(non_blocking=True)) - y.cuda(non_blocking=True)).pow(2).mean().backward()
        optimizer.step()

    def train(model, loader):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for x, y in loader:
            step(model, optimizer, x, y)

    model = nn.Linear(10, 10).cuda()
    {trained}
"""
)
TRAINED = ["train(model, chosen(data, sys.argv[1]))", "train(model, first(data)); train(model, second(data))"]


@pytest.mark.parametrize("trained", TRAINED)
@pytest.mark.parametrize(("first", "second"), [(True, True), (True, False), (False, True), (False, False)])
def test_every_loader_that_feeds_a_step_is_found_where_it_does_not_pin(
    tmp_path: Path, trained: str, first: bool, second: bool
) -> None:
    pins = {True: ", pin_memory=True", False: ""}
    loaders = CHOSEN.format(first=pins[first], second=pins[second])
    files = {"train.py": CHOOSING.format(trained=trained), "loaders.py": loaders}
    unpinned = [line for line, pinned in ((5, first), (8, second)) if not pinned]
    assert lines(tmp_path, files, "TL401") == [("loaders.py", line, "TL401") for line in unpinned]
