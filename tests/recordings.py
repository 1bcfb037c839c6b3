"""Recordings of a training program on a GPU, made by hand in the forms in which the profilers write them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TRAIN = """\
import torch
from torch.utils.data import DataLoader


def train(model, loader, optimizer):
    for batch, target in loader:
        batch = batch.to("cuda")
        loss = model(batch, target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item())
        if loss > 100:
            break
        if loss.item() > 10: loss.item()
        model.log(batch)


def main(dataset, model):
    loader = DataLoader(dataset, batch_size=8, num_workers=2)
    model = model.cuda()
    train(model, loader, torch.optim.SGD(model.parameters(), lr=0.1))


main(torch.load("data.pt"), torch.load("model.pt"))
"""
LENGTH = 1000.0
HOST, WORKER, DEVICE = {"pid": 10, "tid": 10}, {"pid": 10, "tid": 11}, {"pid": 0, "tid": 7}
Event = dict[str, Any]


def event(cat: str, name: str, ts: float, dur: float, where: Event = HOST, **args: Any) -> Event:
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, **where, "args": args}


def python(name: str, ts: float, dur: float) -> Event:
    return event("python_function", name, ts, dur)


def wait(ts: float, dur: float, where: Event = HOST, correlation: int = 1) -> Event:
    return event("cuda_runtime", "cudaStreamSynchronize", ts, dur, where, correlation=correlation)


def step(number: int) -> list[Event]:
    """A step of `train` on a GPU, in the form in which Kineto writes it."""
    t, c = number * LENGTH, number * 10
    return [
        event("user_annotation", f"ProfilerStep#{number}", t, LENGTH - 1),
        event("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", t + 10, 50),
        python("torch/utils/data/dataloader.py(718): __next__", t + 9, 52),
        python("<built-in method to of Tensor object at 0x7f00aa>", t + 70, 60),
        event("cuda_runtime", "cudaMemcpyAsync", t + 80, 40, correlation=c + 1),
        event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", t + 90, 30, DEVICE, correlation=c + 1, device=0),
        python("nn.Module: Net_0", t + 135, 200),
        event("cuda_runtime", "cudaLaunchKernel", t + 140, 5, correlation=c + 2),
        event("kernel", "gemm", t + 400, 100, DEVICE, correlation=c + 2, device=0),
        python("torch/_tensor.py(500): backward", t + 350, 100),
        python("<built-in method run_backward of torch._C._EngineBase object at 0x7f01>", t + 355, 90),
        wait(t + 360, 20, WORKER, c + 3),
        python("<built-in method item of Tensor object at 0x7f00bb>", t + 500, 120),
        event("cpu_op", "aten::item", t + 501, 118),
        event("cuda_runtime", "cudaMemcpyAsync", t + 505, 10, correlation=c + 4),
        event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", t + 510, 2, DEVICE, correlation=c + 4, device=0),
        wait(t + 520, 80, correlation=c + 5),
        event("cpu_op", "aten::is_nonzero", t + 650, 50),
        event("cpu_op", "aten::item", t + 651, 48),
        wait(t + 655, 40, correlation=c + 6),
    ]


def gpu(steps: int = 4) -> list[Event]:
    """The trace of a run on a GPU, with what the profiler itself waits for at the end."""
    end = (steps + 1) * LENGTH
    return [
        *(each for number in range(1, steps + 1) for each in step(number)),
        python("train.py(21): main", 0, end),
        python("train.py(5): train", 1, end - 2),
        python("torch/profiler/profiler.py(900): stop", end - 50, 40),
        wait(end - 49, 10),
    ]


def document(events: Iterable[Event]) -> str:
    whole = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "a GPU"}], "traceEvents": [*events]}
    return json.dumps({**whole, "traceName": "t.json"}, indent=1)


TABLES = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE NVTX_EVENTS (start INT, end INT, text TEXT, textId INT, globalTid INT);
CREATE TABLE ENUM_CUDA_MEM_KIND (id INT, name TEXT, label TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME
  (start INT, end INT, globalTid INT, correlationId INT, nameId INT, callchainId INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY
  (start INT, end INT, deviceId INT, correlationId INT, globalPid INT, copyKind INT, srcKind INT, dstKind INT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, correlationId INT, globalPid INT);
CREATE TABLE CUDA_CALLCHAINS (id INT, symbol INT, module INT, stackDepth INT);
"""
STRINGS = {
    1: "cudaStreamSynchronize_v3020",
    2: "cudaMemcpyAsync_v3020",
    3: "cudaLaunchKernel_v7000",
    4: "train.py:12",
    5: "/home/me/train.py:7",
    6: "libcudart.so.12",
    7: "train",
    8: "cudaLaunchKernelExC",
}


def export(path: Path, *, chains: bool = True) -> None:
    """Two steps in the tables of an export: a pageable copy, a kernel after a gap, a wait."""
    process = 5 << 24
    with sqlite3.connect(path) as database:
        database.executescript(TABLES)
        database.executemany("INSERT INTO StringIds VALUES (?, ?)", STRINGS.items())
        database.executemany("INSERT INTO ENUM_CUDA_MEM_KIND VALUES (?, '', ?)", [(0, "Pageable"), (2, "Device")])
        if chains:
            rows = [(1, 8, 6, 0), (1, 7, 4, 1), (2, 8, 6, 0), (2, 5, 7, 1)]
            database.executemany("INSERT INTO CUDA_CALLCHAINS VALUES (?, ?, ?, ?)", rows)
        for number in range(2):
            t, c = number * 1_000_000, number * 10
            runtime = [
                (t + 10, t + 20_010, c, 2, 2),
                (t + 300_000, t + 305_000, c + 1, 3, 2),
                (t + 500_000, t + 900_000, c + 2, 1, 1),
            ]
            for begin, end, correlation, name, chain in runtime:
                row = (begin, end, process + 9, correlation, name, chain)
                database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?, ?)", row)
            copy = (t + 20, t + 20_000, 0, c, process, 1, 0, 2)
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, ?, ?, ?, ?, ?, ?)", copy)
            kernel = (t + 320_000, t + 899_000, 0, c + 1, process)
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?)", kernel)
            mark = (t, t + 999_999, f"ProfilerStep#{number}")
            database.execute("INSERT INTO NVTX_EVENTS (start, end, text) VALUES (?, ?, ?)", mark)
