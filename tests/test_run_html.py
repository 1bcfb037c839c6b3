"""The HTML report of a run: what it says, that it is complete in itself, and that a browser shows it."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser import TOO_FAINT, opened
from tests.companion_help import TRAINING, confirm, write
from tests.test_html import EVIL, LIMIT
from torchlint.cli.main import main
from torchlint.confirm import evidence, order, prices
from torchlint.confirm.compare import Comparison, as_json
from torchlint.confirm.html import render
from torchlint.confirm.order import Order
from torchlint.confirm.result import Result, result
from torchlint.model import Edit, Evidence, Finding, Fix, Recipe, Safety, Severity, Span

SOURCE = """\
for x in loader:
    x = x.to(device)
    total += loss.item()
    never(x.cuda())
loader = DataLoader(data)
"""
MOVE, READ, NEVER, MADE = Span(2, 9, 2, 21), Span(3, 14, 3, 25), Span(4, 11, 4, 19), Span(5, 10, 5, 26)
FIX = Fix(
    "copy asynchronously", Safety.UNSAFE, (Edit(Span(2, 20, 2, 20), ", non_blocking=True"),), "the copy may overlap"
)
STEPS = 40


def finding(rule: str, span: Span, path: str, **more: Any) -> Finding:
    evidence = (Evidence(1, 1, "the loop"),)
    return Finding(
        rule, f"a-{rule.lower()}", "topic", Severity.WARNING, path, span, "costs `time`", evidence=evidence, **more
    )


def ordered(folder: Path, name: str = "train.py", arguments: tuple[str, ...] = ("--epochs", "3")) -> Order:
    """An order with a finding for each verdict."""
    path = folder / name
    path.write_text(SOURCE, encoding="utf-8")
    made = Order(
        directory=str(folder),
        base=str(folder),
        script=name,
        module=None,
        arguments=arguments,
        findings={
            "0": finding("TL202", MOVE, name, fix=FIX),
            "1": finding("TL301", READ, name),
            "2": finding("TL104", NEVER, name),
            "3": finding("TL401", MADE, name),
        },
        recipes={
            "0": Recipe("blocking-uploads", "finding", "copies"),
            "1": Recipe("synchronizations", "finding", "reads"),
            "2": Recipe("born-on-host", "finding", "copies"),
            "3": Recipe("pageable-batches", "finding", "copies"),
        },
        files={str(path.resolve()): order.digest(str(path)) or ""},
    )
    order.write(made)
    return made


def site(path: Path, span: Span) -> list[Any]:
    return [str(path.resolve()), span.line, span.column - 1, span.end_line, span.end_column - 1]


def event(path: Path, kind: str, span: Span, count: int = STEPS, **more: Any) -> dict[str, Any]:
    """An event that happens in every step, or in ``steps``."""
    size, ns, phase = more.pop("bytes", 0), more.pop("ns", 0), more.pop("phase", "training")
    runs, name = more.pop("steps", [[1, STEPS, STEPS]]), str(path.resolve())
    return {
        "kind": kind,
        "site": site(path, span),
        "count": count,
        "bytes": size * count,
        "ns": ns * count,
        "steady": [count, size * count, ns * count] if phase == "training" else [0, 0, 0],
        "phases": {phase: [count, size * count, ns * count]},
        "each": [ns // 2, ns, ns * 3] if ns else None,
        "steps": runs,
        "callers": [[name, span.line, "train"], [name, 5, "<module>"]],
        "facts": more,
    }


def recorded(folder: Path, made: Order, **more: Any) -> Result:
    """The judged evidence of a run of forty steps."""
    path = folder / (made.script or "")
    nothing = {"count": 0, "steady": 0, "unit": None, "ns": 0, "median_ns": None}
    training = {"count": STEPS, "steady": STEPS, "unit": "optimizer step", "ns": 4 * 10**8, "median_ns": 10**7}
    none = {"count": 0, "bytes": 0, "ns": 0, "steady": [0, 0, 0], "phases": {}, "each": None, "steps": []}
    run = {"placed": True, "begun": STEPS, "ended": STEPS, "changed": 0, "evaluations": none}
    document = {
        "schema": 2,
        "run": made.run,
        "process": {"pid": 1, "parent": 0, "role": "main", "rank": None, "children": []},
        "world": None,
        "mode": "sim",
        "device": None,
        "torch": "2.13.0",
        "notes": [],
        "wall_ns": 10**9,
        "ended": {"how": "finished"},
        "left": None,
        "compiled": False,
        "steps": {
            "count": STEPS,
            "unit": "optimizer step",
            "median_ns": 10**7,
            "trainings": 1,
            "phases": {"before": nothing, "training": training, "evaluation": nothing, "after": nothing},
            "durations": [[n, "training", 10**8 if n == 1 else 10**7] for n in range(1, STEPS + 1)],
        },
        "marks": {"0": run, "1": run, "2": {**run, "begun": 0, "ended": 0}, "3": {**run, "begun": 1, "ended": 1}},
        "events": [
            event(path, "upload", MOVE, bytes=10**6, pinned=True, non_blocking=False),
            event(path, "sync", READ, 30, steps=[[7, 9, 3]]),
            event(path, "batch", MADE, ns=4 * 10**6, workers=0),
            event(path, "download", Span(1, 1, 1, 4), 2, steps=[[1, 40, 2]], bytes=100, non_blocking=False),
        ],
        "trace": {"sites": [], "dropped": 0, "steps": []},
        "sources": {},
        "switch": None,
        "flags": [{"flag": "benchmark", "value": True, "before": False, "site": site(path, MOVE), "layers": 1}],
        "synchronizations": None,
        **more,
    }
    (folder / "evidence-x-1.json").write_text(json.dumps(document), encoding="utf-8")
    return judged(folder)


def judged(folder: Path) -> Result:
    made = order.read(str(folder))
    return result(made, evidence.read(str(folder), made.run), prices.load(prices.DEFAULT), {})


def words(page: str) -> str:
    """The text of a page, with a plain space between its parts."""
    return re.sub(r"\s+", " ", html.unescape(re.sub("<[^>]*>", " ", page)))


@pytest.fixture
def page(tmp_path: Path) -> str:
    """The report of a run with a finding for each verdict."""
    return render(recorded(tmp_path, ordered(tmp_path)), ())


def test_the_answer_is_the_headline_and_its_parts_are_a_bar(page: str) -> None:
    assert "about" in (headline := words(re.findall("<h1>.*?</h1>", page)[0]))
    assert "data" not in headline, "how long loading takes beside a simulated GPU is no headline"
    assert "Loading data took the host 4 ms of a step here" in words(page)
    assert re.findall('<rect class="(data|blocked|rest) (measured|modeled)" x="0', page) == [("blocked", "modeled")]
    assert "<code>--gpu-step TIME</code>" in page
    assert 'class="rest' not in page, "what the CPU computes is no part of a step on a GPU"


def test_findings_come_by_cost_with_their_patch(page: str) -> None:
    assert re.findall(r'<article class="card ([a-z-]+)"', page) == ["confirmed", "confirmed", "not-reached", "refuted"]
    text = words(page)
    assert "+ x = x.to(device, non_blocking=True)" in text
    assert "Caveat: the copy may overlap" in text


@pytest.mark.parametrize(("mode", "offered"), [("gpu", True), ("sim", False)])
def test_the_command_that_measures_a_fix_is_offered_where_it_measures_something(
    tmp_path: Path, mode: str, offered: bool
) -> None:
    text = words(render(recorded(tmp_path, ordered(tmp_path), mode=mode), ()))
    command = "torchlint compare --on gpu --finding TL202:train.py:2 --unsafe-fixes -- train.py --epochs 3"
    assert (command in text, "torchlint compare" in text) == (offered, offered)


def test_a_comparison_that_is_stored_beside_the_evidence_is_shown(tmp_path: Path) -> None:
    recorded(tmp_path, ordered(tmp_path))
    measured = Comparison(
        finding("TL202", MOVE, "train.py", fix=FIX), "switch", "gpu", "H", 60, 1.5, 1.4, 1.6, 300, 200, True, True, 8
    )
    (tmp_path / "compare-1.json").write_text(as_json(measured), encoding="utf-8")
    (tmp_path / "compare-2.json").write_text("{}", encoding="utf-8")
    text = words(render(judged(tmp_path), ()))
    assert "faster, x1.50 [1.40, 1.60], 300 us a step before and 200 us after (measured on H)" in text


def test_what_happens_in_few_steps_is_a_burst(page: str) -> None:
    assert "burst: in 3 of 40 steps" in words(page)
    assert words(page).count("burst: ") == 1


def test_the_gutter_shows_rates_bytes_times_and_signs(page: str) -> None:
    (row,) = re.findall(r'<div class="l hit" id="f0-2">.*?</div>', page)
    text = words(row)
    assert text.split()[:3] == ["1\u00d7", "1.0", "MB"]
    assert "blocking copy to the device, pinned memory" in row
    (loader,) = re.findall(r'<div class="l hit" id="f0-5">.*?</div>', page)
    assert "4 ms" in words(loader)


def test_lines_that_never_ran_are_gray_and_refuted_findings_keep_their_reason(page: str) -> None:
    assert re.findall(r'<div class="l hit never" id="f0-(\d+)">', page) == ["4"]
    assert '<div class="note refuted">' in page
    assert "none moved to the device as it left the loader" in words(page)


def test_events_say_where_they_were_called_and_how_long_each_took(page: str) -> None:
    assert "4 ms each (from 2 ms to 12 ms); called by train.py:5" in words(page)


def test_the_strip_has_a_bar_for_each_step_and_ticks_for_each_line(page: str) -> None:
    (steps,) = re.findall(r'<svg class="steps".*?</svg>', page, re.DOTALL)
    assert steps.count("<rect") == STEPS
    assert steps.count("training cut") == 1
    assert "step 1, training: 100 ms" in words(steps)
    assert page.count('<svg class="ticks"') == 4


def test_the_page_says_how_it_was_made_and_what_it_cannot_know(page: str) -> None:
    text = words(page)
    assert "torchlint confirm --on sim -- train.py --epochs 3" in text
    assert "nothing is known about kernels, overlap or memory" in text
    assert "after 1 layer: benchmark = True at train.py:2" in text


def test_copies_that_the_profiler_timed_are_a_table(tmp_path: Path) -> None:
    copy = {"name": "Memcpy HtoD", "kind": "upload", "count": 20, "us": 400.0}
    profiled = {"steps": 20, "copies": [copy], "seen": {"upload": 20}}
    page = render(recorded(tmp_path, ordered(tmp_path), mode="gpu", device="H200", profiled=profiled), ())
    assert "Memcpy HtoD 1 20 us" in words(page)


def followed(folder: Path, script: str = "train.py") -> dict[str, Any]:
    """What a profile says of four steps of 10 ms in which the device waits for the loader, and for a read."""
    starts = [step * 10**7 for step in range(4)]
    document = {
        "steps": [start + 10**7 for start in starts],
        "busy_ns": 20 * 10**6,
        "idle": 0.5,
        "rows": {
            "host": [one for s in starts for one in ([s, 4 * 10**6], [s + 6 * 10**6, 25 * 10**5])],
            "compute": [[s + 41 * 10**5, 4 * 10**6] for s in starts] + [[39 * 10**6, 10**6]],
            "HtoD": [[s + 4 * 10**6, 10**5] for s in starts],
            "DtoH": [[s + 81 * 10**5, 5 * 10**4] for s in starts],
        },
        "gaps": [
            one
            for s in starts
            for one in ([s, 4 * 10**6, 0], [s + 815 * 10**4, 85 * 10**4, 1], [s + 9 * 10**6, 30_000, None])
        ],
        "dropped": 3,
        "sites": [site(folder / script, MADE), site(folder / script, READ)],
    }
    return {"mode": "gpu", "device": "H200", "profiled": {"steps": 20, "copies": [], "seen": {}, "device": document}}


def test_sampled_steps_are_shown_where_times_are_those_of_the_program(tmp_path: Path) -> None:
    made = ordered(tmp_path)
    sites = [site(tmp_path / "train.py", MADE), site(tmp_path / "train.py", READ)]
    step = {
        "step": 2,
        "phase": "training",
        "ns": 10**7,
        "entries": [[0, 4 * 10**6, "batch", 0, 9], [5 * 10**6, 0, "sync", 1, 0]],
    }
    trace = {"sites": sites, "dropped": 0, "steps": [step]}
    page = render(recorded(tmp_path, made, mode="cpu", trace=trace), ())
    (drawn,) = re.findall('<svg class="sample".*?</svg>', page)
    assert 'class="data" x="0.0" width="400.0"' in drawn
    assert "sync at train.py:3" in words(drawn)
    assert '<svg class="sample"' not in render(recorded(tmp_path, made, trace=trace), ())


def test_ranks_are_columns(tmp_path: Path) -> None:
    made = ordered(tmp_path)
    process = {"pid": 1, "parent": 0, "role": "main", "rank": "0", "children": []}
    recorded(tmp_path, made, process=process, world="2")
    other = json.loads((tmp_path / "evidence-x-1.json").read_text(encoding="utf-8"))
    other["process"] = {**process, "pid": 2, "rank": "1"}
    other["events"] = other["events"][:1]
    (tmp_path / "evidence-x-2.json").write_text(json.dumps(other), encoding="utf-8")
    text = words(render(judged(tmp_path), ()))
    assert "train.py:2 yes yes" in text
    assert "train.py:3 yes no" in text
    assert "on rank 0" in text


def test_evidence_of_schema_1_makes_a_page_without_a_strip(tmp_path: Path) -> None:
    steps = {"count": STEPS, "unit": "optimizer step", "median_ns": 10**7}
    mark = {"placed": True, "begun": STEPS, "ended": STEPS, "ns": 0, "first": 0, "changed": 0}
    marks = {str(number): mark for number in range(4)}
    page = render(recorded(tmp_path, ordered(tmp_path), schema=1, steps=steps, marks=marks), ())
    assert '<svg class="steps"' not in page
    assert "Loading data took the host 4.1 ms of a step here" in words(page)


def test_a_run_without_steps_or_findings_still_makes_a_page(tmp_path: Path) -> None:
    made = ordered(tmp_path)
    nothing = {"count": 0, "steady": 0, "unit": None, "ns": 0, "median_ns": None}
    phases = dict.fromkeys(("before", "training", "evaluation", "after"), nothing)
    steps = {"count": 0, "unit": "batch", "median_ns": None, "trainings": 0, "phases": phases, "durations": []}
    assert "The run did not complete a step." in words(render(recorded(tmp_path, made, steps=steps, events=[]), ()))


def test_the_page_shows_the_source_as_it_was_when_it_ran(tmp_path: Path) -> None:
    import base64
    import zlib

    made = ordered(tmp_path)
    kept = {str((tmp_path / "train.py").resolve()): base64.b64encode(zlib.compress(SOURCE.encode())).decode()}
    recorded(tmp_path, made, sources=kept)
    (tmp_path / "train.py").unlink()
    assert "total += loss.item()" in words(render(judged(tmp_path), ()))


def test_many_findings_stay_below_the_limit(tmp_path: Path) -> None:
    made = ordered(tmp_path)
    many = {str(n): finding("TL301", READ, "train.py", fix=FIX) for n in range(250)}
    reads = Recipe("synchronizations", "finding", "reads")
    order.write(Order(**{**vars(made), "findings": many, "recipes": dict.fromkeys(many, reads)}))
    page = render(recorded(tmp_path, made), ())
    assert len(page.encode()) < LIMIT
    assert "more findings are in the text and JSON reports" in page


def test_confirm_writes_a_page(tmp_path: Path) -> None:
    write(tmp_path, TRAINING)
    options = ("--output-format", "html", "--output-file", "report.html", "--fail-on", "never")
    done = confirm(tmp_path, *options, "--", "program.py", "--name", "a b")
    assert done.returncode == 0, done.stderr
    text = words((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "program.py on a simulated GPU" in text
    assert "torchlint confirm --on sim -- program.py --name 'a b'" in text


def test_html_needs_a_file_since_the_program_prints_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("print(1)\n", encoding="utf-8")
    assert main(["confirm", "--output-format", "html", "--", str(tmp_path / "a.py")]) == 2
    assert "give --output-file FILE" in capsys.readouterr().err


# In a browser


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """The report of a run in which every name, reason and source wants to be markup."""
    name = EVIL.replace("/", "").replace("\0", "") + ".py"
    made = ordered(tmp_path, name, arguments=(EVIL.replace("\0", ""),))
    path = tmp_path / name
    path.write_text(SOURCE.replace("loader:", f"loader:  # {EVIL}".replace("\0", "")), encoding="utf-8")
    notes, raised = [EVIL], {"how": "exception", "type": EVIL, "message": EVIL, "site": site(path, MOVE)}
    more = {**followed(tmp_path, name), "notes": notes, "ended": raised, "torch": EVIL}
    target = tmp_path / "report.html"
    target.write_text(render(recorded(tmp_path, made, **{**more, "device": EVIL}), ()), encoding="utf-8")
    return target


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1600])
def test_a_page_opens_from_disk_and_fits_the_window(
    chromium: Any,
    page: str,
    tmp_path: Path,
    scheme: str,
    width: int,
) -> None:
    target = tmp_path / "report.html"
    target.write_text(page, encoding="utf-8")
    with opened(chromium, target, width=width, scheme=scheme) as seen:
        assert not seen.overflows
        seen.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
        assert not seen.overflows
        assert seen.evaluate(TOO_FAINT) == []
        seen.page.keyboard.press("j")
        assert seen.evaluate("document.activeElement.id") == "c1"


def test_the_segments_of_the_bar_fill_it(chromium: Any, page: str, tmp_path: Path) -> None:
    target = tmp_path / "report.html"
    target.write_text(page, encoding="utf-8")
    with opened(chromium, target) as seen:
        whole = seen.evaluate("document.querySelector('svg.bar').getBoundingClientRect().width")
        blocked = seen.evaluate("document.querySelector('svg.bar .blocked').getBoundingClientRect().width")
        assert blocked / whole > 0.99, "loading data beside a simulated GPU is no part of it"


@pytest.mark.parametrize("width", [360, 1600])
def test_a_hostile_run_runs_nothing_and_breaks_no_layout(chromium: Any, hostile: Path, width: int) -> None:
    with opened(chromium, hostile, width=width) as seen:
        assert not seen.overflows
        assert seen.evaluate("document.images.length + document.scripts.length") == 1
        assert "\\u202e" in seen.page.text_content(".src")
