"""Programs that compute in float16 on a CPU that is slow at it are told before they do."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torchlint.runtime.recorder import Recorder  # noqa: E402
from torchlint.runtime.sim import half  # noqa: E402
from torchlint.runtime.sim.simulation import Simulation  # noqa: E402
from torchlint.runtime.sites import Sites  # noqa: E402


@pytest.mark.parametrize(
    ("slowness", "dtype", "said"), [(2.0, "float16", 0), (80.0, "float16", 1), (80.0, "bfloat16", 0)]
)
def test_slow_half_precision_is_said_once(
    monkeypatch: pytest.MonkeyPatch, slowness: float, dtype: str, said: int
) -> None:
    monkeypatch.setattr(half, "slowness", lambda: slowness)
    notes: list[str] = []
    with Simulation(Recorder(), Sites([])) as simulation:
        simulation.on_note = notes.append
        for _ in range(2):
            with torch.autocast("cuda", dtype=getattr(torch, dtype)):
                pass
    assert len(notes) == said
    assert all("float16 takes about 80 times as long as float32" in note for note in notes)


def test_slowness_is_measured_without_the_simulation_or_its_random_numbers() -> None:
    recorder = Recorder()
    with Simulation(recorder, Sites([])):
        torch.manual_seed(3)
        expected = torch.rand(1)
        torch.manual_seed(3)
        half.slowness.cache_clear()
        assert half.slowness() > 0
        assert torch.rand(1).equal(expected)
    assert recorder.of("upload") == []
