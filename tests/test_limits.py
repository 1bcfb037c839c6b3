"""Limits of one file: what takes too long or too much memory is one finding, and the other files go on."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from torchlint.api import lint_source
from torchlint.base import limits
from torchlint.config.config import Config
from torchlint.model import FileResult, RunResult, Severity
from torchlint.run import session
from torchlint.run.cache import Cache
from torchlint.run.linting.file import Analysis, analyze
from torchlint.text import size

GUILTY = "import torch\ndef f(x, device):\n    return x.cpu().clamp(0, 1).to(device)\n"
SLOW = "import torch\ntorch.backends.cudnn.enabled = False\n"  # which a rule looks at
LIMIT = Config(time_limit=0.1)  # for what never ends
UNLIMITED = Config(time_limit=0)
alarmed = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no interval timers")
forking = pytest.mark.skipif(
    multiprocessing.get_start_method() != "fork", reason="the replacement reaches other processes by forking"
)


def never_ends(*_: object, **__: object) -> None:
    """An analysis in a circle, with nets for exceptions in it."""
    while True:
        try:
            re.match(r"(a+)+$", "a" * 12 + "b")
        except Exception:
            continue


@pytest.fixture
def stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file that is parsed takes for ever."""
    monkeypatch.setattr("torchlint.analysis.module.SourceModule.parse", never_ends)


def the_timeout(result: FileResult | RunResult) -> str:
    (finding,) = [f for f in result.findings if f.rule == "TL000"]
    assert (finding.severity, finding.span.line) == (Severity.ERROR, 1)
    assert "\n" not in finding.message
    assert not result.problems
    return finding.message


@alarmed
@pytest.mark.usefixtures("stuck")
def test_a_file_that_takes_too_long_is_one_finding_that_says_what_to_do() -> None:
    message = the_timeout(lint_source(GUILTY, "code.py", LIMIT))
    for words in ("timeout", "0.1 s", "time-limit", "exclude", "report"):
        assert words in message


@alarmed
def test_a_rule_that_never_ends_is_no_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchlint.run.linting.file._findings", never_ends)
    assert "timeout" in the_timeout(lint_source(SLOW, "code.py", LIMIT))


@alarmed
def test_a_search_that_never_ends_is_interrupted() -> None:
    with pytest.raises(limits.OverLimit):
        limits.within(0.1, lambda: re.match(r"(a+)+$", "a" * 60 + "b"))


@alarmed
def test_a_file_that_takes_too_much_memory_is_one_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchlint.analysis.module.SourceModule.parse", never_ends)
    readings = iter(range(0, 10**18, 10**10))
    monkeypatch.setattr("torchlint.base.limits._memory", lambda: next(readings))
    assert "out of memory" in the_timeout(lint_source(GUILTY, "code.py", UNLIMITED))


def test_files_within_the_limits_leave_no_alarm_behind() -> None:
    assert [f.rule for f in lint_source(GUILTY, "code.py", Config(time_limit=600)).findings] == ["TL201"]
    if hasattr(signal, "setitimer"):
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_DFL


@alarmed
def test_an_alarm_of_the_program_around_is_left_alone() -> None:
    heard: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: heard.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 100)
        assert [f.rule for f in lint_source(GUILTY, "code.py").findings] == ["TL201"]
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_other_threads_lint_without_a_limit() -> None:
    found: list[FileResult] = []
    thread = threading.Thread(target=lambda: found.append(lint_source(GUILTY, "code.py", LIMIT)))
    thread.start()
    thread.join()
    assert [f.rule for f in found[0].findings] == ["TL201"]


# -- many files ----------------------------------------------------------------------------------


def tree(folder: Path, count: int = 12) -> list[str]:
    paths = []
    for i in range(count):
        path = folder / f"file{i:02}.py"
        path.write_text(GUILTY + f"x = {i}  # padding\n" * 1500, encoding="utf-8")
        paths.append(str(path))
    return paths


def circles_on_file03(data: bytes, path: str, *rest: object, **more: object) -> Analysis:
    if path.endswith("file03.py"):
        data = GUILTY.encode() + b"# circle"
    return analyze(data, path, *rest, **more)  # type: ignore[arg-type]


def hangs_on_file03(data: bytes, path: str, *rest: object, **more: object) -> Analysis:
    """As a call into C that does not come back: no signal reaches Python."""
    if path.endswith("file03.py"):
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        time.sleep(600)
    return analyze(data, path, *rest, **more)  # type: ignore[arg-type]


@forking
def test_a_process_that_hangs_costs_only_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchlint.run.linting.file.analyze", hangs_on_file03)
    monkeypatch.setattr("torchlint.base.limits.patience", lambda _: 5.0)  # for a file that takes milliseconds
    result = session.run(tree(tmp_path), session.plan(Config()), jobs=2)
    assert "timeout" in the_timeout(result)
    assert [Path(f.path).name for f in result.findings if f.rule == "TL000"] == ["file03.py"]
    assert sum(f.rule == "TL201" for f in result.findings) == 11


@alarmed
@forking
@pytest.mark.parametrize("jobs", [1, 2])
def test_what_ran_out_of_time_is_tried_again_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    paths, plan = tree(tmp_path), session.plan(LIMIT)
    with monkeypatch.context() as patch:
        patch.setattr("torchlint.analysis.module.SourceModule.parse", never_ends)
        first = session.run(paths[:6], plan, jobs=jobs, cache=Cache(tmp_path / "cache", "key"))
    assert [f.rule for f in first.findings] == ["TL000"] * 6
    second = session.run(paths[:6], session.plan(Config()), jobs=jobs, cache=Cache(tmp_path / "cache", "key"))
    assert (second.from_cache, [f.rule for f in second.findings]) == (0, ["TL201"] * 6)


# -- size ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["a\n" * 400_000, "f(f(f(f())))\n" * 60_000, "x = [" + "1," * 1_000_000 + "]\n", "a;" * 500_000],
)
def test_a_file_whose_tree_would_not_fit_is_one_finding(text: str) -> None:
    (finding,) = lint_source(SLOW + text, "code.py", UNLIMITED).findings
    assert finding.rule == "TL000"
    assert "too large to lint" in finding.message


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 150_000,
        "# some words, and (marks)\n" * 100_000,
        '"""' + "words, words\n" * 100_000 + '"""\n',
        "x = '" + "A" * 3_000_000 + "'\n",
    ],
)
def test_comments_and_strings_make_no_file_too_large(text: str) -> None:
    assert [f.rule for f in lint_source(GUILTY + text, "code.py", UNLIMITED).findings] == ["TL201"]


def test_small_files_are_not_weighed() -> None:
    assert size.problem(b"a\n" * 100_000) is None


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read as Linux shows it")
@pytest.mark.parametrize(
    "unit", ["a\n", "f(f(f(f())))\n", "f(a, b=c)[d].e + g\n", "x = torch.zeros(3).cuda()\n" + "y = x.a\n" * 9]
)
def test_the_largest_file_of_its_kind_stays_below_a_gigabyte(unit: str) -> None:
    low, high = 100_000, 8_000_000
    while high - low > 10_000:
        middle = (low + high) // 2
        low, high = (middle, high) if size.problem((unit * (middle // len(unit))).encode()) is None else (low, middle)
    program = (
        "import re, sys\nfrom torchlint.api import lint_source\nfrom torchlint.config.config import Config\n"
        "text = sys.argv[1] + sys.argv[2] * int(sys.argv[3])\n"
        "result = lint_source(text, 'code.py', Config(time_limit=0))\n"
        "assert {f.rule for f in result.findings} <= {'TL104', 'TL201', 'TL701'}, result.findings[:1]\n"
        # Not `ru_maxrss`, which counts what the process that started this one had in memory.
        "print(int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) * 1024)\n"
    )
    command = [sys.executable, "-c", program, GUILTY, unit, str(low // len(unit))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
    assert int(done.stdout) < 1_000_000_000


def test_no_more_of_a_file_is_read_than_shows_that_it_is_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "x.py"
    file.write_bytes(b"0123456789")
    assert limits.content(str(file)) == b"0123456789"
    monkeypatch.setattr(limits, "MAX_BYTES", 6)
    assert limits.content(str(file)) == b"0123456"


def test_a_file_that_grows_while_it_is_read_is_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "x.py"
    file.write_bytes(b"0123456789")
    monkeypatch.setattr(
        "torchlint.base.inputs.os.fstat", lambda _: os.stat_result((stat.S_IFREG, *[0] * 5, 4, 0, 0, 0))
    )
    assert limits.content(str(file)) == b"0123456789"
