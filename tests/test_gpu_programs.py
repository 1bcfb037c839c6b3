"""The scripted programs in ``gpu`` mode, on a stand-in for a GPU: the simulated device, which reports waits like torch.

All that differs from a real GPU is the device; instruments, evidence and verdicts are those of ``gpu`` mode.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch")

from scripts.gpu import verdicts as known
from tests import programs_runner
from tests.gpu_help import SAYS, DebugMode, warned
from tests.representatives import first_of_each_kind
from tests.test_programs import marks
from torchlint.confirm.documents import verdict_document
from torchlint.runtime.recorder import Recorder
from torchlint.runtime.sim.machine import Machine
from torchlint.runtime.sim.simulation import Simulation
from torchlint.runtime.sites import Sites

ROOT = Path(__file__).parents[1]
MARK = re.compile(r'# (TL\d{3}) (confirmed|refuted|not reached|unknown) "')
# Host work, whose verdicts depend on its time alone.
HOST = ("TL101", "TL102", "TL103")
# Reading by index is told by the instruction that waits, and here it is the simulation that waits.
BY_INDEX = ("TL305",)
APART = ("cuda_graph.py",)  # not simulated
PROGRAMS = [
    path
    for path in sorted([*ROOT.glob("tests/programs/*.py"), *ROOT.glob("fixtures/*/programs/*.py")])
    if "# on: cpu" not in path.read_text("utf-8") and path.name not in APART
]


# What C++ does when the host waits for a GPU. It is no code of the tests, where events would be.
DRIVER = "def waited(*_, **__):\n    warn()\n"


CHOSEN = first_of_each_kind(PROGRAMS, lambda path: {rule for _, rule, *_ in marks(path)})


@pytest.fixture(autouse=True)
def _modes() -> Iterator[None]:
    """Programs run in this process, and one of them leaves a mode of torch on, which is what it is about."""
    anomalies = torch.is_anomaly_enabled()
    yield
    torch.autograd.set_detect_anomaly(anomalies)


@pytest.mark.slow
@pytest.mark.parametrize(
    "programs", [CHOSEN, pytest.param(PROGRAMS, marks=pytest.mark.exhaustive)], ids=["of each rule", "all"]
)
def test_verdicts_of_gpu_mode_are_those_of_the_simulation(
    programs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    DebugMode().install(monkeypatch)
    names: dict[str, Any] = {"warn": warned(SAYS)}
    exec(compile(DRIVER, "/driver", "exec"), names)
    for name in ("sync", "blocks"):
        monkeypatch.setattr(Machine, name, names["waited"])
    faults, same = [], 0
    for path in programs:
        with Simulation(Recorder(), Sites([])):
            judged = programs_runner.observed(str(path), "gpu")
        verdicts = {
            (finding.rule, finding.span.line): verdict_document(verdict)
            for finding, verdict in zip(judged.findings, judged.verdicts, strict=True)
        }
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            mark = MARK.search(line)
            if mark is None or mark[1] in HOST + BY_INDEX:
                continue
            given = verdicts.get((mark[1], number))
            same += given is not None and given["status"] == mark[2]
            if given is None or given["status"] != mark[2]:
                verdict, why = known.judged(mark[2], given, line)
                if verdict == "fault":
                    faults.append(f"{path.name}:{number} {mark[1]} {mark[2]}: {why}")
    assert faults == []
    assert same >= len(programs) / 2
