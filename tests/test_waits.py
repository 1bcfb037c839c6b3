"""Waits as torch's debug mode reports them, and programs that know nothing of it: with a stand-in for what C++ does."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import torch
else:
    torch = pytest.importorskip("torch")

from tests.gpu_help import PROTOTYPE, SAYS, DebugMode, order, warned
from torchlint.runtime import scopes, waits
from torchlint.runtime.observation import Observation

ROOT = Path(__file__).parents[1]
ONE, MATRIX = torch.arange(10.0), torch.arange(20.0).reshape(4, 5).t()
NOT_CONTIGUOUS = "torch.searchsorted(): input value tensor is non-contiguous"


@pytest.fixture
def debug(monkeypatch: pytest.MonkeyPatch) -> DebugMode:
    """Torch's debug mode for synchronizations, of which this process has not heard yet."""
    monkeypatch.setattr(waits, "_unsaid", None)
    mode = DebugMode()
    mode.install(monkeypatch)
    return mode


@pytest.fixture
def observing(tmp_path: Path, debug: DebugMode) -> Iterator[Observation]:
    """An observation in ``gpu`` mode."""
    assert debug.mode == 0
    observation = Observation(order(tmp_path), "gpu")
    observation.start()
    yield observation
    observation.stop()


@pytest.fixture
def loud() -> Iterator[None]:
    """C++ warns each time of what it otherwise says once."""
    torch.set_warn_always(True)
    yield
    torch.set_warn_always(False)


def counted(observation: Observation) -> dict[str, int]:
    """The waits by kind."""
    found: dict[str, int] = {}
    for _, facts, count in observation.recorder.of("sync"):
        found[str(facts["why"])] = found.get(str(facts["why"]), 0) + count.number
    return found


# -- what is counted -------------------------------------------------------------------------------


def test_each_wait_is_counted_at_its_line(observing: Observation, debug: DebugMode) -> None:
    for _ in range(3):
        debug.wait()
    debug.wait()
    source = Path(__file__).read_text("utf-8").splitlines()
    lines = [(source[site.line - 1].strip(), count.number) for site, _, count in observing.recorder.of("sync")]
    assert lines == [("debug.wait()", 3), ("debug.wait()", 1)]
    assert observing.evidence()["synchronizations"] == {"explained": 0, "unexplained": 4}


def test_waits_of_a_thread_are_counted_at_the_lines_of_the_thread(observing: Observation, debug: DebugMode) -> None:
    def work() -> None:
        debug.wait()

    for _ in range(2):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    ((site, _, count),) = observing.recorder.of("sync")
    assert (site.line, count.number) == (work.__code__.co_firstlineno + 1, 2)


def test_a_wait_for_the_device_is_counted_once_whether_torch_reports_it_or_not(
    observing: Observation, debug: DebugMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch._C._cuda_synchronize()
    assert counted(observing) == {"synchronize": 1}
    monkeypatch.setattr(torch.cuda.Stream, "synchronize", lambda _: debug.wait())
    again = waits.Waits(lambda why: observing.recorder.add("again", observing.sites.here(), why=why))
    waiting: Any = again._waiting(torch.cuda.Stream.synchronize, "stream")
    waiting(None)  # the observation hears it
    assert counted(observing) == {"synchronize": 1, "stream": 1}


class Written:
    """Something that waits when it is written by index."""

    __setitem__ = warned(SAYS)


@pytest.mark.usefixtures("loud")
def test_indexing_is_told_apart(observing: Observation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "_SAYS", "indexing with dtype torch.uint8")
    mask = torch.tensor([1, 0, 1], dtype=torch.uint8)
    x = torch.ones(3)
    _ = x[mask]
    x.__getitem__(mask)
    torch.index_select(torch.ones(3), 0, torch.ones(1).nonzero()[0])
    monkeypatch.setattr(waits, "_SAYS", SAYS)
    Written()[1] = 2
    assert counted(observing) == {"index": 2, "stream": 1}


def test_waits_of_copies_belong_to_the_copies(observing: Observation, debug: DebugMode) -> None:
    (transfers,) = (one for one in observing.instruments if type(one).__name__ == "Transfers")
    transfers.copies.timed(debug.wait, (), {})  # type: ignore[attr-defined]
    transfers.copies.settle(1)  # type: ignore[attr-defined]
    assert observing.evidence()["synchronizations"] == {"explained": 1, "unexplained": 0}


def test_a_build_without_the_mode_counts_no_waits_instead_of_none(tmp_path: Path) -> None:
    observation = Observation(order(tmp_path), "gpu")
    observation.start()
    observation.stop()
    assert observation.evidence()["synchronizations"] is None
    assert "only copies are counted" in observation.notes[0]


# -- the program's own mode ------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_the_mode_of_the_program_is_what_it_has_set(observing: Observation, debug: DebugMode) -> None:
    assert torch.cuda.get_sync_debug_mode() == 0
    for mode, number in (("warn", 1), ("error", 2), ("default", 0), (1, 1)):
        torch.cuda.set_sync_debug_mode(mode)
        assert torch.cuda.get_sync_debug_mode() == number
    with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
        torch.cuda.set_sync_debug_mode(7)
    assert torch.cuda.get_sync_debug_mode() == 1
    observing.stop()
    assert debug.mode == 1


def test_the_mode_that_the_program_had_before_is_kept(tmp_path: Path, debug: DebugMode) -> None:
    with warnings.catch_warnings(record=True):
        torch.cuda.set_sync_debug_mode("error")
    observation = Observation(order(tmp_path), "gpu")
    observation.start()
    try:
        with pytest.raises(RuntimeError, match=SAYS):
            debug.wait()
    finally:
        observation.stop()
    assert debug.mode == 2


@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_a_program_that_wants_errors_gets_them(observing: Observation, debug: DebugMode) -> None:
    torch.cuda.set_sync_debug_mode("error")
    with pytest.raises(RuntimeError, match=SAYS):
        debug.wait()
    torch.cuda.set_sync_debug_mode("default")
    debug.wait()
    assert debug.waited == 1
    assert counted(observing) == {"stream": 1}


def test_what_torch_says_of_the_mode_is_said_to_a_program_that_sets_it(observing: Observation) -> None:
    def said() -> list[tuple[str, str]]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            torch.cuda.set_sync_debug_mode("default")
        return [(str(one.message)[: len(PROTOTYPE)], one.filename) for one in found]

    assert said() == [(PROTOTYPE, torch.cuda.__file__)]
    assert said() == []
    observing.stop()
    observing.start()
    assert said() == []


# -- warnings as without torchlint -----------------------------------------------------------------


def _outcome(act: Callable[[DebugMode], Any], debug: DebugMode) -> Any:
    """What a program sees of its warnings, and of their exceptions."""
    before = warnings.filters[:]
    try:
        seen = act(debug)
    except Warning as error:
        seen = repr(error)
    finally:
        warnings.filters[:] = before  # type: ignore[index]
        warnings._filters_mutated()  # type: ignore[attr-defined]
    return seen


def _reset() -> None:
    warnings.resetwarnings()  # looked up now, like a program's


def _recorded(*actions: Any) -> Callable[[DebugMode], Any]:
    """A program that records warnings, its own among them."""

    def act(debug: DebugMode) -> Any:
        with warnings.catch_warnings(record=True) as said:
            for action in actions:
                action()
            for _ in range(3):
                debug.wait()
                warnings.warn("of the program", UserWarning, stacklevel=1)
        return [(str(one.message), one.category, one.filename, one.lineno) for one in said]

    return act


def _warning(_debug: DebugMode) -> Any:
    """A program that asks torch to warn, and has two lines that wait."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("default")
        torch.cuda.set_sync_debug_mode("warn")
        direct = warned(SAYS)
        for _ in range(3):
            direct()
        direct()
        torch.cuda.set_sync_debug_mode("default")
        return [(str(one.message), one.category, one.filename, one.lineno) for one in said]


def _failing(debug: DebugMode) -> Any:
    """A program whose filters make its own warnings errors, and that asks torch to warn."""
    torch.cuda.set_sync_debug_mode("default")
    warnings.filterwarnings("error", message=SAYS)
    debug.wait()
    torch.cuda.set_sync_debug_mode("warn")
    try:
        debug.wait()
    finally:
        torch.cuda.set_sync_debug_mode("default")


def _shown(debug: DebugMode) -> Any:
    """A program with a function of its own that shows warnings."""
    shown: list[str] = []
    real = warnings.showwarning
    warnings.showwarning = lambda message, *_, **__: shown.append(str(message))
    try:
        warnings.simplefilter("always")
        debug.wait()
        warnings.warn("of the program", UserWarning, stacklevel=1)
    finally:
        warnings.showwarning = real
    return shown


def _replaced(debug: DebugMode) -> Any:
    """A program that replaces the list of filters, and adds to it."""
    kept = warnings.filters
    warnings.filters = [*kept]
    try:
        warnings.simplefilter("error")
        debug.wait()
        warnings.warn("of the program", UserWarning, stacklevel=1)
    finally:
        warnings.filters = kept
    return None


PROGRAMS = {
    "always": _recorded(lambda: warnings.simplefilter("always")),
    "ignore": _recorded(lambda: warnings.simplefilter("ignore")),
    "error": _recorded(lambda: warnings.simplefilter("error")),
    "default": _recorded(lambda: warnings.simplefilter("default")),
    "reset": _recorded(_reset),
    "appended": _recorded(lambda: warnings.simplefilter("always", append=True)),
    "by message": _recorded(lambda: warnings.filterwarnings("error", message="called")),
    "reset and always": _recorded(_reset, lambda: warnings.filterwarnings("always", module=".*")),
    "warning": _warning,
    "failing": _failing,
    "shown": _shown,
    "replaced": _replaced,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_warnings_of_a_program_are_as_without_torchlint(tmp_path: Path, debug: DebugMode, name: str) -> None:
    with warnings.catch_warnings(record=True):
        debug.set(0)  # what torch says once
    plain = _outcome(PROGRAMS[name], debug)
    waited, debug.waited = debug.waited, 0
    observation = Observation(order(tmp_path), "gpu")
    observation.start()
    try:
        assert _outcome(PROGRAMS[name], debug) == plain
    finally:
        observation.stop()
    assert debug.waited == waited
    assert not any(isinstance(one[1], waits._Listener) for one in warnings.filters)
    if waited:
        assert sum(counted(observation).values()) == waited


@pytest.mark.usefixtures("debug")
def test_filters_of_the_context_are_heard_since_python_3_14(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own: list[Any] = [("error", None, Warning, None, 0)]
    monkeypatch.setattr(warnings, "_get_filters", lambda: own, raising=False)
    observation = Observation(order(tmp_path), "gpu")
    observation.start()
    assert own[0][0] == "ignore"
    assert len(own) == 2
    observation.stop()
    assert own == [("error", None, Warning, None, 0)]


@pytest.mark.parametrize(
    ("options", "variable"),
    [
        ([], ""),
        (["-W", "error"], ""),
        (["-W", "ignore"], ""),
        pytest.param([], "error", marks=pytest.mark.exhaustive),  # to Python the same as `-W error`
    ],
)
def test_options_for_warnings_of_the_interpreter_keep_their_meaning(
    tmp_path: Path, options: list[str], variable: str
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, warnings\nfrom pathlib import Path\nimport pytest\n"
        "from tests.gpu_help import DebugMode, order\nfrom torchlint.runtime.observation import Observation\n"
        "debug = DebugMode()\ndebug.install(pytest.MonkeyPatch())\n"
        f"observation = Observation(order(Path({str(tmp_path)!r})), 'gpu')\nobservation.start()\n"
        "debug.wait()\n"
        "seen = 'nothing'\n"
        "try:\n    warnings.warn('of the program', UserWarning)\nexcept UserWarning:\n    seen = 'an error'\n"
        "observation.stop()\n"
        "print(seen, observation.evidence()['synchronizations']['unexplained'], sys.warnoptions)\n",
        "utf-8",
    )
    environment = {"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(tmp_path), "PYTHONWARNINGS": variable}
    # Torch itself warns while it is imported, which `-W error` makes an exception: filters of a module come later.
    command = [sys.executable, *options, "-W", "ignore:::torch", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    way = [*options, variable]
    assert done.stdout.startswith(f"{'an error' if 'error' in way else 'nothing'} 1 "), done.stderr
    assert SAYS not in done.stderr
    assert ("of the program" in done.stderr) == (way == [""])


def test_pytest_with_warnings_as_errors_and_recwarn_is_as_without(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nfilterwarnings =\n    error\n")
    pytester.makeconftest(
        "import sys\nsys.path.insert(0, " + repr(str(ROOT)) + ")\n"
        "from pathlib import Path\nimport pytest\n"
        "from tests.gpu_help import DebugMode, order\nfrom torchlint.runtime.observation import Observation\n"
        "debug = DebugMode()\npatch = pytest.MonkeyPatch()\ndebug.install(patch)\n"
        f"observation = Observation(order(Path({str(pytester.path)!r})), 'gpu')\nobservation.start()\n"
        "def pytest_unconfigure():\n    observation.stop()\n    patch.undo()\n"
        "    print('counted', observation.evidence()['synchronizations']['unexplained'])\n"
    )
    pytester.makepyfile(
        "import warnings\nimport pytest\nfrom conftest import debug\n"
        "def test_wait():\n    debug.wait()\n"
        "def test_recorded(recwarn):\n    debug.wait()\n    assert len(recwarn) == 0\n"
        "def test_expected():\n    with pytest.warns(UserWarning, match='own'):\n"
        "        debug.wait()\n        warnings.warn('own', UserWarning)\n"
        "def test_error():\n    with pytest.raises(UserWarning):\n        warnings.warn('own', UserWarning)\n"
    )
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:torchlint", "-p", "no:asyncio", "-q")
    done.assert_outcomes(passed=4)
    done.stdout.fnmatch_lines(["counted 3"])


@pytest.mark.usefixtures("observing")
def test_filters_that_a_program_copies_or_sends_are_plain() -> None:
    for made in (pickle.loads(pickle.dumps(warnings.filters)), copy.deepcopy(warnings.filters)):
        action, pattern, *_ = made[0]
        assert action == "ignore"
        assert isinstance(pattern, re.Pattern)


# -- warnings of C++ itself ------------------------------------------------------------------------


@pytest.mark.usefixtures("observing", "loud")
def test_other_warnings_of_cpp_are_as_without(capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        torch.searchsorted(ONE, MATRIX)
        assert torch.ops.aten.searchsorted(ONE, MATRIX).shape == MATRIX.shape
        assert torch.ops.aten.searchsorted.Tensor(ONE, MATRIX).shape == MATRIX.shape
    assert [str(one.message)[: len(NOT_CONTIGUOUS)] for one in said] == [NOT_CONTIGUOUS]
    written = capfd.readouterr().err.splitlines()
    assert [line.partition("] ")[2][: len(NOT_CONTIGUOUS) + 9] for line in written] == [
        f"Warning: {NOT_CONTIGUOUS}"
    ] * 2
    assert all(re.match(r"\[W\d{4} [\d:]+ BucketizationUtils\.h:\d+\]", line) for line in written)


@pytest.mark.usefixtures("loud")
def test_waits_of_operators_are_counted_and_not_written(
    observing: Observation, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(waits, "_SAYS", NOT_CONTIGUOUS)
    torch.ops.aten.searchsorted(ONE, MATRIX)
    torch.ops.aten.searchsorted.Tensor(ONE, MATRIX)
    torch.searchsorted(ONE, MATRIX)
    torch.func.vmap(lambda values: torch.searchsorted(ONE, values))(MATRIX)
    assert counted(observing) == {"stream": 4}
    assert capfd.readouterr().err == ""


@pytest.mark.usefixtures("observing")
def test_operators_raise_what_they_raise() -> None:
    with pytest.raises(RuntimeError, match="missing value for argument 'other'"):
        torch.ops.aten.add.Tensor(ONE)
    with pytest.raises(KeyError, match="mine"):
        scopes.in_scope(lambda: {"other": 1}["mine"], (), {})
    with pytest.raises(KeyboardInterrupt):
        scopes.in_scope(_interrupted, (), {})


def _interrupted() -> None:
    raise KeyboardInterrupt


@pytest.mark.usefixtures("observing")
def test_operators_in_compiled_code_stay_in_one_graph() -> None:
    compiled = torch.compile(lambda x: torch.ops.aten.add.Tensor(x, x) * 2, backend="eager", fullgraph=True)
    assert compiled(torch.ones(2)).tolist() == [4.0, 4.0]
