"""Any input gives findings or TL000: a few inputs of `fuzz/run.py`, and all failures that it has found."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from generate import programs
from judge import fault, unscreened
from mutate import corpus, cuts, mutants

from tests.growth import calls, is_even

ROOT = Path(__file__).resolve().parent.parent
HEAD = "import torch, numpy as np\nfrom torch.utils.data import DataLoader\n"


def seeds() -> list[bytes]:
    return corpus([ROOT / "fixtures"], Random(3), 60)


def failures(inputs: list[bytes]) -> dict[str, bytes]:
    return {wrong: data for data in inputs if (wrong := fault(data))}


def test_mutated_programs_give_findings_or_tl000() -> None:
    assert not failures(list(islice(mutants(seeds(), Random(3)), 80)))


def test_programs_that_are_cut_off_give_findings_or_tl000() -> None:
    assert not failures(list(islice(cuts(seeds()[:2], Random(3)), 0, None, 3)))


def test_generated_programs_give_findings_or_tl000() -> None:
    assert not failures(list(islice(programs(3, lawful=False), 60)))


@pytest.mark.parametrize(
    "code",
    [
        # A class made of what calls are mostly given.
        "class A('cuda'): pass\n",
        "class A(device='cuda', metaclass='cuda'): pass\n",
        "loader = DataLoader(d)\nclass A(loader, *loader, k=loader): pass\n",
        "for x in DataLoader(d):\n    class B(x, *x, **x): pass\n    class C(x.cuda(), k=x.cuda().item()): pass\n",
        "def f():\n    a = np.zeros(3)\n    class A(a[0]): pass\n    return torch.tensor(a)\n",
    ],
)
def test_what_fuzzing_found_stays_fixed(code: str) -> None:
    assert unscreened((HEAD + code).encode()) is None


@pytest.mark.parametrize(
    "unit",
    [
        "\n",
        "for ",
        "torch[",
        "torch\n",
        "deterministic",
        "def device",
        "load_data",
        "def f(x):\n    a = x.cpu().cuda()\n",
        "x = torch.tensor(np.zeros(3)).cuda().item()\n",
        "# torchlint: ignore[",
        "# noqa: TL101,",
        "x = 1  # torchlint: ignore[TL101]\n",
    ],
)
def test_long_repetitions_are_linted_with_work_that_grows_as_they_do(unit: str) -> None:
    def judge(length: int) -> None:
        assert unscreened((HEAD + unit * (length // len(unit))).encode()) is None

    judge(100)  # what the first file needs is imported
    assert is_even([calls(partial(judge, length)) for length in (2_000, 4_000, 8_000)])


def test_a_failure_is_reported_with_its_input(tmp_path: Path) -> None:
    """The fuzzer can fail: a rule that raises on a word is found and the input kept."""
    program = (
        "import judge, run, sys\nfrom pathlib import Path\n"
        "task = run.Task('mutate', 1, 0.1, (), Path(sys.argv[1]))\n"
        "run.alike = lambda data: 'broken'\nrun.work(task)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=ROOT / "fuzz", check=False)
    assert done.returncode == 0
    assert [file.read_text() for file in tmp_path.glob("mutate-*.txt")] == ["broken\n"]
    assert len(list(tmp_path.glob("mutate-*.py"))) == 1
