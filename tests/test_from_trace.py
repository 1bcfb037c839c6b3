"""What recordings of runs show at lines: traces of torch.profiler, logs of torch.compile, exports of Nsight Systems."""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import warm
from tests.recordings import LENGTH, TRAIN, document, export, gpu, python, step, wait
from torchlint.api import lint_paths, lint_source
from torchlint.cli.main import main
from torchlint.model import Observed
from torchlint.report.observed import seen_lines
from torchlint.run.recorded.observed import join
from torchlint.trace.files import Files
from torchlint.trace.frames import Frame
from torchlint.trace.problem import Unreadable
from torchlint.trace.reading import read
from torchlint.trace.stacks import Stacks
from torchlint.trace.steps import steps_of


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a project of one program."""
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    (tmp_path / "torchlint.toml").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(*paths: str) -> Files:
    return Files(paths or ("train.py",), lambda path: Path(path).read_text(encoding="utf-8"))


def observed(recording: str, *paths: str) -> dict[tuple[str, int], Observed]:
    return {(one.kind, one.line): one for one in read(recording, files(*paths)).observed}


# -- traces of torch.profiler ------------------------------------------------------------------------


def test_each_event_of_a_gpu_is_at_the_line_that_caused_it(folder: Path) -> None:
    (folder / "t.json").write_text(document(gpu()), encoding="utf-8")
    found = observed("t.json")
    assert {key: (one.times, one.microseconds) for key, one in found.items()} == {
        ("data", 6): (4, 200.0),
        ("pageable-upload", 7): (4, 160.0),
        ("wait", 10): (4, 80.0),  # on the thread of the backward pass
        ("pageable-download", 12): (4, 40.0),
        ("wait", 12): (4, 320.0),
        ("wait", 13): (4, 160.0),
    }
    assert found["wait", 12].lines == (12, 15)
    # What follows on the end of one of four steps is the beginning of another three times, and all waits in that time
    # took less than the gap; so did the copy of a batch.
    assert {key: one.idle_us for key, one in found.items()} == {
        ("data", 6): 3 * 50,
        ("pageable-upload", 7): 4 * 40,
        ("wait", 10): 0,
        ("pageable-download", 12): 3 * 10 + 5,  # until the copy began, the GPU had nothing to do either
        ("wait", 12): 3 * 80,
        ("wait", 13): 3 * 40,
    }
    assert found["wait", 13].share == pytest.approx(160 / (4 * 999))


def test_what_the_profiler_waits_for_itself_is_not_the_programs(folder: Path) -> None:
    (folder / "t.json").write_text(document(gpu(1)), encoding="utf-8")
    totals = {kind: count for kind, count, _ in read("t.json", files()).recording.totals}
    assert totals["wait"] == 3


def test_a_compressed_trace_says_the_same(folder: Path) -> None:
    (folder / "t.json").write_text(document(gpu()), encoding="utf-8")
    (folder / "t.json.gz").write_bytes(gzip.compress(document(gpu()).encode()))
    plain, packed = (read(name, files()) for name in ("t.json", "t.json.gz"))
    assert packed.recording == plain.recording._replace(source="t.json.gz")
    assert [one._replace(source="") for one in packed.observed] == [one._replace(source="") for one in plain.observed]


def test_a_trace_without_stacks_has_times_and_says_what_to_record(folder: Path) -> None:
    (folder / "t.json").write_text(
        document(each for number in range(4) for each in step(number) if each["cat"] != "python_function"), "utf-8"
    )
    recording, seen = read("t.json", files())
    assert seen == ()
    assert (recording.steps, recording.step_us) == (4, LENGTH - 1)
    assert ("wait", 12, 560.0) in recording.totals
    assert "with_stack=True" in " ".join(recording.notes)


def test_steps_are_those_of_the_optimizer_if_the_profiler_names_none() -> None:
    steps = steps_of([], [100.0, 300.0, 500.0])
    assert (len(steps), steps.typical, steps.has(50), steps.has(301)) == (2, 200.0, False, True)


def test_the_last_step_is_left_out_if_it_was_cut_off() -> None:
    steps = [(0, 100), (100, 200), (200, 210)]
    assert len(steps_of(steps, [90, 190])) == 2
    assert len(steps_of(steps, [90, 190, 209])) == 3
    assert len(steps_of(steps, [90])) == 3  # gradients are accumulated
    assert len(steps_of(steps, [])) == 3


def test_functions_that_were_running_are_found_in_any_order_of_the_events() -> None:
    stacks = Stacks()
    for begin, end, name in ((30, 40, 3), (0, 100, 1), (10, 50, 2), (60, 70, 4)):
        stacks.add(begin, end, name)
    running = [stacks.names(calls) for calls in stacks.at([5, 35, 45, 65, 200])]
    assert running == [(1,), (1, 2, 3), (1, 2), (1, 4), ()]


def test_paths_of_another_machine_are_matched_by_their_ends_and_by_the_function(folder: Path) -> None:
    for name in ("one", "two"):
        (folder / name).mkdir()
        (folder / name / "train.py").write_text(TRAIN.replace("def main", f"def {name}"), encoding="utf-8")
    known = files("one/train.py", "two/train.py")
    assert known.find(Frame("/home/me/code/two/train.py", 6, "train")) == "two/train.py"
    assert known.find(Frame("C:\\code\\one\\train.py", 6, "train")) == "one/train.py"
    assert known.find(Frame("train.py", 20, "two")) == "two/train.py"
    assert known.find(Frame("train.py", 6, "train")) is None  # either of them
    assert known.find(Frame("three/train.py", 6, "train")) is None
    assert known.find(Frame("/usr/lib/python3/site-packages/two/train.py", 6, "train")) is None
    assert known.find(Frame("/home/me/code/two/train.py", 1, "other")) is None


PROFILED = """
import torch
from torch.profiler import ProfilerActivity, profile, schedule

def report(loss):
    if loss > 100:
        return float(loss)
    return loss.item()

def train(profiler):
    model = torch.nn.Linear(4, 1)
    for _ in range(5):
        loss = model(torch.ones(2, 4)).sum()
        loss.backward()
        report(loss)
        profiler.step()

save = lambda profiler: profiler.export_chrome_trace("trace.json.gz")
plan = schedule(wait=1, warmup=1, active=3)
with profile(activities=[ProfilerActivity.CPU], with_stack=True, schedule=plan, on_trace_ready=save) as profiler:
    train(profiler)
"""


def test_a_trace_that_torch_writes_is_read(folder: Path) -> None:
    (folder / "profiled.py").write_text(PROFILED, encoding="utf-8")
    done = warm.run([sys.executable, "-m", "profiled"], folder, os.environ)
    assert done.returncode == 0, done.stderr
    recording, seen = read("trace.json.gz", files("profiled.py"))
    assert recording.steps == 3
    assert recording.step_us is not None
    assert {(one.kind, one.path, one.line): one.times / one.steps for one in seen} == {
        ("read", "profiled.py", 6): 1.0,
        ("read", "profiled.py", 8): 1.0,
    }


# -- damaged files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (document(gpu()).encode()[:-900], "ends too early"),
        (document(gpu()).replace('"ts": 1080.0', '"ts": 10 80', 1).encode(), "damaged|ends too early"),
        (gzip.compress(document(gpu()).encode())[:-30], "ends too early"),
        (b'{"schemaVersion": 1}', "without traceEvents"),
        (b'{"traceEvents": null}', "without traceEvents"),
        (b"step 1: 12 ms\n", "is none of what --from-trace reads"),
        (b"SQLite format 3\0" + b"x" * 4000, "is a damaged SQLite file"),
    ],
)
def test_a_damaged_recording_is_one_line_and_status_2(
    folder: Path, content: bytes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "t").write_bytes(content)
    assert main(["train.py", "--from-trace", "t"]) == 2
    output = capsys.readouterr()
    assert (output.out, output.err.count("\n")) == ("", 1)
    assert output.err.startswith("torchlint: error: --from-trace: t ")
    assert any(each in output.err for each in words.split("|"))


ODD = [
    {"traceEvents": [1, None, [], {"ph": "X"}, {"ph": "X", "name": 3, "ts": "a", "dur": {}}]},
    {"traceEvents": [wait(float("nan"), 5), wait(1e400, 5), wait(10**400, 5), {**wait(1, 5), "args": [], "pid": {}}]},
    {
        "traceEvents": [
            python("/(3): f", 0, 9),
            python("<(1): ", 1, 7),
            python("train.py(99999999): f", 2, 5),
            wait(3, 1),
        ]
    },
]


@pytest.mark.parametrize("odd", ODD)
def test_events_of_another_form_are_passed_over(folder: Path, odd: object) -> None:
    (folder / "t.json").write_text(json.dumps(odd), encoding="utf-8")
    assert read("t.json", files()).observed == ()


def test_an_export_with_values_of_another_type_is_one_line(folder: Path) -> None:
    export(folder / "report.sqlite")
    with sqlite3.connect(folder / "report.sqlite") as database:
        database.execute("UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = NULL WHERE nameId = 1")
    with pytest.raises(Unreadable, match="is a damaged SQLite file"):
        read("report.sqlite", files())


def test_a_missing_file_and_an_empty_folder_are_one_line(folder: Path) -> None:
    (folder / "empty").mkdir()
    with pytest.raises(Unreadable, match="No such file"):
        read("missing", files())
    with pytest.raises(Unreadable, match="TORCH_TRACE"):
        read("empty", files())


@pytest.mark.parametrize("option", ["--fix", "--diff", "--statistics", "--add-ignore"])
@pytest.mark.usefixtures("folder")
def test_what_a_recording_says_nothing_about_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train.py", "--from-trace", "t", option]) == 2
    assert f"leave out {option}" in capsys.readouterr().err


def test_the_memory_for_a_trace_does_not_grow_with_its_text(folder: Path) -> None:
    size = 50_000_000
    with (folder / "t.json").open("w", encoding="utf-8") as out:
        out.write('{"traceEvents": [')
        for number in _until(out.tell, size):
            out.writelines(json.dumps({**each, "padding": "x" * 2000}) + ",\n" for each in step(number))
        out.write(json.dumps(python("train.py(5): train", 0, 1e12)) + "]}")
    tracemalloc.start()
    try:
        found = observed("t.json")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found["wait", 13].times > 1000
    assert peak < size / 5


def _until(position: Any, size: int) -> Iterator[int]:
    number = 0
    while position() < size:
        yield number
        number += 1


# -- logs of torch.compile ---------------------------------------------------------------------------

COMPILED = """
import torch

def helper(x):
    print("hi")
    return x * 2

@torch.compile(backend="eager", dynamic=False)
def f(x):
    y = helper(x)
    if y.sum() > 0:
        y = y + 1
    return y

for n in range(2):
    f(torch.ones(3 + n))
"""


def test_breaks_and_recompilations_that_torch_logs_are_at_their_lines(folder: Path) -> None:
    (folder / "compiled.py").write_text(COMPILED, encoding="utf-8")
    environment = {**os.environ, "TORCH_TRACE": str(folder / "logs")}  # which torch reads when it is imported
    subprocess.run([sys.executable, "compiled.py"], cwd=folder, env=environment, check=True, capture_output=True)
    found = observed("logs", "compiled.py")
    assert "Failed to trace builtin operator" in found["graph-break", 5].detail
    assert found["graph-break", 11].detail == "Data-dependent branching"
    assert "size mismatch at index 0. expected 3, actual 4" in found["recompile", 8].detail
    (log,) = (folder / "logs").glob("*.log")
    alone = observed(str(log), "compiled.py")
    assert alone.keys() == found.keys()


def test_a_log_that_was_cut_off_is_one_line(folder: Path) -> None:
    line = 'V0331 12:34:56.789000 12 torch/_dynamo/convert_frame.py:303] {"dynamo_start": {"stack": [{"line": 1'
    (folder / "t.log").write_text(line, encoding="utf-8")
    with pytest.raises(Unreadable, match="line 1 is not complete JSON"):
        read("t.log", files())


# -- exports of Nsight Systems -----------------------------------------------------------------------


def test_an_export_with_stacks_of_python_names_lines(folder: Path) -> None:
    export(folder / "report.sqlite")
    recording, seen = read("report.sqlite", files())
    assert recording.steps == 2
    assert recording.step_us == pytest.approx(999.999)
    assert {(one.kind, one.line): (one.times, round(one.microseconds)) for one in seen} == {
        ("wait", 12): (2, 800),
        ("pageable-upload", 7): (2, 40),
        ("idle", 7): (3, 701),
    }


def test_an_export_without_stacks_says_what_to_record(folder: Path) -> None:
    export(folder / "report.sqlite", chains=False)
    recording, seen = read("report.sqlite", files())
    assert seen == ()
    assert ("wait", 2, 800.0) in recording.totals
    assert "--python-backtrace=cuda" in " ".join(recording.notes)


# -- with the findings -------------------------------------------------------------------------------


def test_the_report_marks_findings_and_lists_the_rest(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stranger = [python("elsewhere.py(3): helper", 1700, 20), wait(1705, 5, correlation=999)]
    unmatched = [{**each, "tid": 12} for each in stranger]
    (folder / "t.json").write_text(document([*gpu(), *unmatched]), encoding="utf-8")
    assert main(["train.py", "--from-trace", "t.json", "--no-cache"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert (
        "seen in the run: 1 wait for the device a step, 80 us (8 %), at line 12 or 15; the GPU was idle for 60" in text
    )
    assert "seen in the run: 1 copy to the device from pageable memory a step, 40 us (4 %); the GPU" in text
    assert "TL202 blocking-transfer warning" in text  # shown in full, since it was seen
    assert (
        "train.py:6: 1 wait for data a step, 50 us (5 %); the GPU was idle for 37.5 us because of it give the" in text
    )
    assert "1 line of it could not be matched with a linted file: elsewhere.py:3." in text


def test_findings_without_a_recording_are_as_before(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["train.py", "--no-cache", "--output-format", "json"])
    plain = json.loads(capsys.readouterr().out)
    assert plain["recorded"] is None
    (folder / "t.json").write_text(document(gpu()), encoding="utf-8")
    main(["train.py", "--no-cache", "--output-format", "json", "--from-trace", "t.json"])
    seen = json.loads(capsys.readouterr().out)
    without = [{name: value for name, value in each.items() if name != "seen"} for each in seen["findings"]]
    assert without == plain["findings"]
    (recording,) = seen["recorded"]["recordings"]
    assert (recording["source"], recording["steps"]) == ("t.json", 4)
    counts = {
        each["line"]: {one["line"]: one["count"] for one in each["seen"]}
        for each in seen["findings"]
        if each.get("seen")
    }
    assert counts[12] == {12: 4, 13: 4}  # the wait of line 13 is right behind that of line 12
    assert {each["line"] for each in seen["recorded"]["unreported"]} == {6, 10}


def test_only_findings_about_what_happened_are_marked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "t.json").write_text(document(gpu()), encoding="utf-8")
    main(["train.py", "--no-cache", "--output-format", "sarif", "--from-trace", "t.json"])
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    marked = {each["ruleId"] for each in results if "seen" in each["properties"]}
    assert "TL301" in marked
    assert "TL202" in marked
    assert "TL701" not in marked


@pytest.mark.usefixtures("folder")
def test_what_is_certain_about_a_line_is_not_repeated_as_a_guess() -> None:
    findings = lint_paths(["train.py"]).findings
    sure = Observed("wait", "train.py", 12, 4, 4, 80.0, "t.json")
    guess = sure._replace(line=12, lines=(12, 15), function="train")
    joined = join(findings, [guess, sure])
    (marked,) = [each for each in joined.findings if each.rule == "TL301" and each.span.line == 12]
    assert marked.seen == (sure,)
    other = join(findings, [sure._replace(path="other.py")])
    assert [one.path for one in other.unreported] == ["other.py"]


TWICE = """import torch

def train(model, loader, optimizer):
    model.cuda()
    total = best = 0.0
    for x in loader:
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
        best = max(best, loss.item())
    return total, best
"""


def test_all_reads_of_a_finding_are_its_own_and_one_line_of_the_report() -> None:
    findings = lint_source(TWICE, "train.py").findings
    first = Observed("wait", "train.py", 10, 4, 4, 80.0, "t.json", share=0.1)
    joined = join(findings, [first, first._replace(line=11), first._replace(line=9)])
    (marked,) = [each for each in joined.findings if each.rule == "TL301"]
    assert seen_lines(marked) == ["seen in the run: 2 waits for the device a step, 40 us (20 %)"]
    assert [one.line for one in joined.unreported] == [9]


BATCHES = """import torch
from torch.utils.data import DataLoader

def train(model, dataset, optimizer):
    model.cuda()
    total = 0.0
    for x in DataLoader(dataset, num_workers=4):
        loss = model(x.cuda()).mean()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total
"""


def test_a_copy_of_a_batch_costs_what_it_costs_once_at_its_loader() -> None:
    findings = lint_source(BATCHES, "train.py").findings
    copy = Observed("pageable-upload", "train.py", 8, 4, 4, 80.0, "t.json")
    joined = {found.rule: found.seen for found in join(findings, [copy]).findings if found.seen}
    assert joined == {"TL401": (copy,), "TL202": (copy._replace(microseconds=0.0),)}


def test_of_two_findings_on_a_line_the_one_at_the_expression_has_what_was_seen_there() -> None:
    (found,) = (one for one in lint_source(TWICE, "train.py").findings if one.rule == "TL301")
    beside = found._replace(rule="TL303", span=found.span._replace(column=1, end_column=6))
    wait = Observed("wait", "train.py", 10, 4, 4, 80.0, "t.json", columns=(18, 29))
    assert [bool(one.seen) for one in join([beside, found], [wait]).findings] == [False, True]
    both = join([beside, found], [wait._replace(columns=None)]).findings
    assert sorted(one.microseconds for each in both for one in each.seen) == [0.0, 80.0]
