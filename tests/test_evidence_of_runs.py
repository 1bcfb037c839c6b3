"""What a run has shown becomes findings, in its own report and when the same files are linted later."""

from __future__ import annotations

import ast
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.companion_help import CONFIRM, TRAINING, confirmed, warm_run, write
from torchlint.project.followed import NOT_FOLLOWED, Range
from torchlint.run.recorded.evidence import EvidenceProblem, Measured, Shot, document, read
from torchlint.run.recorded.shown import Shown, with_shown
from torchlint.run.recorded.shown_forms import Tree

# What calls these is only known when the program runs.
HELPER = """
def keep(values, loss):
    values.append(loss.item())


def compare(values, loss):
    if loss > 1:
        values.append(1)


def rows(values, loss):
    return loss.reshape(1)[loss.reshape(1) > 0]
"""
PROGRAM = TRAINING.replace("import torch\n", "import torch\nimport helper\n", 1).replace(
    "    total += loss.item()\n", "    [vars(helper)[n]([], loss.detach()) for n in open('names.txt').read().split()]\n"
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a program, a report on its run, and the evidence."""
    folder = tmp_path_factory.mktemp("recorded")
    write(folder, PROGRAM.replace("print(total.hex())\n", ""))
    write(folder, HELPER, "helper.py")
    (folder / "names.txt").write_text("keep compare rows", encoding="utf-8")
    report = ("--output-format", "json", "--output-file", "report.json")
    done = warm_run(folder, *CONFIRM, "sim", "--evidence", "ev", *report, "--", "program.py", "secret-argument")
    assert done.returncode == 1, done.stderr
    return folder


def linted(folder: Path, *arguments: str) -> dict[str, Any]:
    done = warm_run(folder, "-m", "torchlint", "--isolated", *arguments, "--output-format", "json", ".")
    assert done.returncode in (0, 1), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def places(document: dict[str, Any], path: str = "helper.py") -> list[tuple[int, str, str]]:
    return [(f["line"], f["rule"], f["severity"]) for f in document["findings"] if f["path"] == path]


SHOWN = [(2, "TL301", "warning"), (6, "TL301", "warning"), (11, "TL304", "info")]


def test_a_run_reports_what_it_has_seen_by_rule(recorded: Path) -> None:
    document = json.loads((recorded / "report.json").read_text(encoding="utf-8"))
    assert sorted(places(document)) == SHOWN
    shown = [found for found in document["findings"] if found["path"] == "helper.py"]
    assert {found["verdict"]["status"] for found in shown} == {"confirmed"}
    assert {found["verdict"]["per_step"] for found in shown} == {1.0}
    assert all(found["verdict"]["reason"].startswith("seen in the run: ") for found in shown)
    assert not [spot for spot in document["unflagged"] if spot["path"] == "helper.py"]


def verdicts(folder: Path, evidence: Path) -> list[tuple[str, int, str]]:
    done = warm_run(folder, "-m", "torchlint", "verdict", "--isolated", "--output-format", "json", str(evidence))
    found = json.loads(done.stdout)["findings"]
    return sorted((each["path"], each["line"], each["rule"]) for each in found)


def test_a_verdict_is_the_same_wherever_it_is_asked_for(recorded: Path, tmp_path: Path) -> None:
    here = verdicts(recorded, recorded / "ev")
    assert {("helper.py", line, rule) for line, rule, _ in SHOWN} <= set(here)
    assert verdicts(tmp_path, recorded / "ev") == here


def test_a_run_says_nothing_of_code_that_has_changed_since(recorded: Path, tmp_path: Path) -> None:
    text = (recorded / "helper.py").read_text(encoding="utf-8")
    try:
        (recorded / "helper.py").write_text(text.replace("loss.item()", "loss.sum().item()"), encoding="utf-8")
        assert not [each for each in verdicts(tmp_path, recorded / "ev") if each[0] == "helper.py"]
    finally:
        (recorded / "helper.py").write_text(text, encoding="utf-8")


# A copy and a read on one line, two reads of which one is known without a run, and what linting cannot follow.
MANY = """
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

def both(right, every):
    assert right <= every
    return right.cpu().numpy(), every.cpu().numpy()

def made(of, data):
    return of(data)

model = torch.nn.Linear(8, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(21):
    x, y = torch.randn(4, 8), torch.randn(4, 8)
    x, y = x.to(device), y.to(device)
    loss = (model(x) - model(y)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    mask = x[:, 0] > 0
    both((mask * mask).sum(), mask.sum())
    made(torch.cuda.FloatTensor, [0.0])
    text = "%d %f" % (step, eval("loss"))
    if step % 10 == 9:
        with torch.no_grad():
            for _ in range(40):
                eval("model")(torch.randn(4, 8).to(device)).cpu()
"""


@pytest.mark.slow
def test_all_that_happens_in_every_step_has_a_finding(tmp_path: Path) -> None:
    write(tmp_path, MANY)
    document = confirmed(tmp_path, "program.py")
    assert document["run"]["steps"] == 21, document["stderr"]
    # A line has one finding about its copies, which names the first.
    assert [(one["line"], one["column"]) for one in document["unflagged"]] == [(16, 26)]
    verdicts = [(found["line"], found["rule"], found["verdict"]) for found in document["findings"]]
    confirmed_at = [(line, rule, given["count"]) for line, rule, given in verdicts if given["status"] == "confirmed"]
    assert sorted(confirmed_at) == [
        (6, "TL301", 84),  # with both reads of line 7 and that of line 24, which are right behind
        (10, "TL105", 21),
        (16, "TL104", 21),
        (28, "TL202", 80),
        (28, "TL301", 80),
    ]


CODE = """def step(x, loader):
    a = x.item()
    return [y.item() for y in loader], (lambda z: z.item())
"""


@pytest.mark.parametrize(
    ("place", "part", "events", "steps"),
    [
        ((2, 8, 2, 16), 1.0, [(2, 8, 2, 16)], [1]),
        ((2, 8, 2, 16), 0.5, [], []),  # in every second step
        ((3, 12, 3, 20), 1.0, [(3, 12, 3, 20)], []),  # as often as the comprehension, not the function
        ((3, 50, 3, 58), 1.0, [(3, 50, 3, 58)], []),
        ((9, 0, 9, 4), 1.0, [], []),
    ],
    ids="function sometimes comprehension lambda nowhere".split(),
)
def test_what_a_run_shows_is_a_fact_of_the_file(
    place: Range, part: float, events: list[Range], steps: list[int]
) -> None:
    known = with_shown(NOT_FOLLOWED, CODE.encode(), [Shown("sync", place, "read", "training", part)])
    assert [event.place for event in known.events] == events
    assert [step.line for step in known.steps] == steps


def test_evidence_is_linted_with(recorded: Path) -> None:
    assert not [place for place in places(linted(recorded)) if place[2] == "warning"]
    document = linted(recorded, "--evidence", "ev")
    assert sorted(places(document)) == SHOWN
    found = next(found for found in document["findings"] if found["line"] == 2 and found["path"] == "helper.py")
    assert [(seen["kind"], seen["count"], seen["steps"]) for seen in found["seen"]] == [("wait", 7, 7)]
    assert linted(recorded, "--evidence", "ev/observations.json")["findings"] == document["findings"]


def test_what_was_seen_costs_what_the_verdicts_of_the_same_run_say(recorded: Path) -> None:
    seen = {
        (found["path"], found["line"], found["rule"]): sum(
            one["microseconds"] / one["steps"] for one in found.get("seen", ()) if not one["evaluates"]
        )
        for found in linted(recorded, "--evidence", "ev")["findings"]
    }
    report = json.loads((recorded / "report.json").read_text(encoding="utf-8"))
    judged = {
        (found["path"], found["line"], found["rule"]): found["verdict"]["cost_us"]
        for found in report["findings"]
        if found["verdict"]["cost_us"] and found["verdict"]["phase"] == "training"
    }
    assert len(judged) > 2
    assert {place: seen[place] for place in judged} == pytest.approx(judged)


@pytest.mark.parametrize("form", ["text", "github", "gitlab", "junit", "html"])
def test_reports_say_what_was_seen(recorded: Path, form: str) -> None:
    done = warm_run(recorded, "-m", "torchlint", "--isolated", "--evidence", "ev", "--output-format", form, "helper.py")
    assert "seen in the run: 1 wait for the device a step, about 10 us (modeled)" in done.stdout, done.stderr


def test_cached_results_are_those_with_the_evidence_that_was_given(recorded: Path) -> None:
    without, with_it = linted(recorded, "--no-cache"), linted(recorded, "--no-cache", "--evidence", "ev")
    for _ in range(2):
        assert linted(recorded, "--cache-dir", "cache")["findings"] == without["findings"]
        assert linted(recorded, "--cache-dir", "cache", "--evidence", "ev")["findings"] == with_it["findings"]


def test_evidence_only_adds(recorded: Path) -> None:
    def every(document: dict[str, Any]) -> set[tuple[str, int, str]]:
        return {(found["path"], found["line"], found["rule"]) for found in document["findings"]}

    assert every(linted(recorded)) <= every(linted(recorded, "--evidence", "ev"))


def test_a_changed_file_is_left_out_and_named(recorded: Path, tmp_path: Path) -> None:
    for name in ("program.py", "helper.py"):
        shutil.copy(recorded / name, tmp_path)
    with (tmp_path / "helper.py").open("a", encoding="utf-8") as stream:
        stream.write("# changed\n")
    document = linted(tmp_path, "--evidence", str(recorded / "ev"))
    assert not [place for place in places(document) if place[2] == "warning"]
    (recording,) = document["recorded"]["recordings"]
    assert recording["notes"] == ["helper.py: changed since the run, and left out; record the evidence again"]
    assert any(found.get("seen") for found in document["findings"] if found["path"] == "program.py")


def test_evidence_to_commit_says_nothing_of_the_machine(recorded: Path) -> None:
    text = (recorded / "ev" / "observations.json").read_text(encoding="utf-8")
    assert str(recorded) not in text
    assert "secret-argument" not in text
    assert sorted(json.loads(text)["files"]) == ["helper.py", "program.py"]


HOSTILE = json.dumps(
    document(
        [Shot("a.py", "0", "", (Measured(Shown("sync", (1, 0, 1, 1), "read", "training", 1.0), 1, 1, 1.0, False),))],
        torch="2",
        device="x",
        version="0",
    )
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read (No such file or directory); `torchlint confirm --evidence DIR` writes DIR/"),
        ("{", "is not JSON; record the evidence again"),
        ("[]", "is no evidence that this version of torchlint can read; record it again"),
        ('{"schema": 2, "torch": "2", "device": "x", "files": {}}', "is no evidence that this version"),
        ('{"schema": 1, "torch": "2", "device": "x", "files": {"a.py": {"sha256": "0"}}}', "is no evidence"),
        (HOSTILE.replace("training", "assumed"), "is no evidence"),
        (HOSTILE.replace("[1,", "[0,"), "is no evidence"),
    ],
    ids="missing truncated list newer incomplete phase place".split(),
)
def test_damaged_evidence_is_one_line(tmp_path: Path, content: str | None, said: str) -> None:
    if content is not None:
        (tmp_path / "observations.json").write_text(content, encoding="utf-8")
    with pytest.raises(EvidenceProblem) as problem:
        read([str(tmp_path)] if content is not None else [str(tmp_path / "observations.json")])
    assert said in str(problem.value)
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize(
    ("statement", "kind", "how", "form"),
    [
        ("y = «x.item()»", "sync", "read", "read `.{}()`"),
        ("y = «x.cpu()»", "download", "to", "read `.{}()`"),
        ("y = «x.to('cpu')»", "download", "to", "read a move to the CPU"),
        ("y = «x.to(device)»", "upload", "to", "copy a blocking copy"),
        ("y = «torch.tensor(data, device=device)»", "upload", "data", "copy `{}` of data of the host"),
        ("y = «float(x)»", "sync", "read", "read `{}(..)`"),
        ("y = «max(x, z)»", "sync", "read", "read `{}(..)` of Python"),
        ("y = «x.nonzero()»", "sync", "nonzero", "wait `.{}()`"),
        ("y = «torch.where(x)»", "sync", "nonzero", "wait `{}(..)`"),
        ("if «x.any()»: pass", "sync", "read", "read a condition on a tensor"),
        ("«if x > 0: pass»", "sync", "read", "read a condition on a tensor"),
        ("while not «x.all()»: pass", "sync", "read", "read a condition on a tensor"),
        ("assert «x.any()»", "sync", "read", "read an assertion on a tensor"),
        ("y = «x[mask]»", "sync", "mask", "wait a mask as index"),
        ("«x[mask]» = z", "sync", "mask", "wait assigning through a mask"),
        ("y = «x[index]»", "upload", "index", "copy an index on the host"),
        ("y = «values[x]»", "sync", "read", "read a tensor as index of a list"),
        ("y = «values[:x]»", "sync", "read", "read a tensor as slice bound"),
        ("y = «f'{x}'»", "sync", "read", "read formatting a tensor"),
        ("y = «'%d %f' % (1, x)»", "sync", "read", "read formatting a tensor"),
        ("y = «'{}'.format(x)»", "sync", "read", "read formatting a tensor"),
        ("y = «x % z»", "sync", "read", None),
        ("y = «text.format(x)»", "sync", "read", None),
        ("y = «ft([0])»", "upload", "legacy", "copy a tensor of data of the host"),
        ("«loss.backward()»", "sync", "mask", None),
        ("y = «compute(x)»", "sync", "read", None),
        ("y = «x + 1»", "sync", "read", None),
    ],
)
def test_what_is_seen_at_an_expression_has_a_form(statement: str, kind: str, how: str, form: str | None) -> None:
    before, marked, _ = statement.replace("»", "«").split("«")
    tree = Tree(statement.replace("«", "").replace("»", "").encode())
    node = tree.at((1, len(before), 1, len(before) + len(marked)))
    assert isinstance(node, ast.expr)
    found = tree.form(node, kind, how)
    assert (found.form.key if found is not None else None) == form
