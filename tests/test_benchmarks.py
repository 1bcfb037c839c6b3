"""What the speed benchmark makes of measurements; nothing here depends on how fast anything is."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import corpora
import layers
import pytest
import speed
from timing import check, commits, contestants, goals, page, record, suites, switches, table, trees
from timing.measure import Contestant, Done, Place, measure, run
from timing.record import BenchmarkError, Row, Suite

from tests.git_help import Git


def row(wall: float, cpu: float = 1.0, peak: float = 50.0) -> Row:
    return Row([wall / 2, wall, wall * 3], [cpu] * 3, [peak / 2, peak, peak / 2])


def suite(name: str, rows: dict[str, Row], cores: int = 2) -> Suite:
    return Suite(
        name, f"tree {name}", 1304, 5_465_083, "2026-01-31", "0123456789", "Linux", cores, {"torchlint": "1.2"}, rows
    )


def by_text(words: str) -> goals.Goal:
    found = [goal for goal in goals.GOALS if words in goal.text]
    assert len(found) == 1, words
    return found[0]


def test_every_goal_names_a_suite_and_is_not_measured_without_it() -> None:
    assert {goal.suite for goal in goals.GOALS} == set(suites.SUITES)
    empty = {name: suite(name, {}) for name in suites.SUITES}
    for goal in goals.GOALS:
        assert goal.measured({}) is None
        assert goal.measured(empty) is None


def test_a_goal_compares_medians_of_one_suite() -> None:
    measured = {"timm": suite("timm", {contestants.COLD: row(2.0), contestants.HOTPATH: row(4.0)})}
    goal = by_text("timm: time of hotpath-ai")
    assert goal.measured(measured) == 0.5
    assert goal.met(0.5)
    assert goal.met(1.0)
    assert not goal.met(1.004)  # which would be shown as 1.00


def test_a_goal_of_being_faster_needs_at_least_its_limit() -> None:
    goal = by_text("faster than TorchFix")
    measured = {"timm": suite("timm", {contestants.COLD: row(2.0), contestants.TORCHFIX: row(118.0)})}
    assert goal.measured(measured) == 59.0
    assert not goal.met(59.0)
    assert goal.met(60.0)


def test_growth_compares_the_whole_with_the_mean_of_its_halves() -> None:
    first, second = contestants.HALVES
    measured = suite("eleven", {contestants.COLD: row(8.0), first: row(3.0), second: row(5.0)})
    assert goals.growth(measured) == 2.0


def test_the_peak_is_the_largest_of_all_runs_of_torchlint_alone() -> None:
    rows = {
        contestants.COLD: row(1, peak=90),
        contestants.ONE_JOB: row(1, peak=120),
        contestants.RUFF: row(1, peak=900),
    }
    assert goals.peak(suite("timm", rows)) == 120


def test_the_table_of_goals_says_what_was_measured_and_what_is_met() -> None:
    rows = {contestants.COLD: row(1.0), contestants.TORCHFIX: row(72.4), contestants.HOTPATH: row(0.5)}
    lines = table.goal_table({"timm": suite("timm", rows)}).splitlines()
    assert "| cold, timm: faster than TorchFix | 72.4 times | at least 60 times | yes |" in lines
    assert "| cold, timm: time of hotpath-ai | 2.00 | at most 1 | **no** |" in lines
    assert "| cold, torch/utils: time of hotpath-ai | not measured | at most 1 |  |" in lines


def test_the_table_of_a_suite_shows_each_row_beside_the_first() -> None:
    text = table.page({"timm": suite("timm", {contestants.COLD: row(2.0, 3.0), contestants.READ: row(0.05)})})
    assert "tree timm: 1,304 files, 5.5 MB. Linux, 2 cores. torchlint 1.2. 2026-01-31, commit 0123456789." in text
    assert "| torchlint | 2.00 s | 1.00 to 6.00 s | 3.00 s | 50 MB | 1.00 | 3 |" in text
    assert "| reading the bytes | 0.050 s | 0.025 to 0.150 s | 1.00 s | 50 MB | 0.025 | 3 |" in text


def test_results_come_back_as_they_were_kept(tmp_path: Path) -> None:
    kept = {"timm": suite("timm", {contestants.COLD: row(2.0)})}
    path = tmp_path / "results.json"
    assert record.load(path) == {}
    record.save(kept, path)
    assert record.load(path) == kept
    path.write_text('{"schema": 0}', encoding="utf-8")
    with pytest.raises(BenchmarkError, match="schema 0"):
        record.load(path)


def test_the_text_goes_between_the_markers_of_the_page(tmp_path: Path) -> None:
    path = tmp_path / "speed.md"
    marked = "before\n<!-- speed:begin -->\n{}\n<!-- speed:end -->\nafter\n"
    path.write_text(marked.format("old"), encoding="utf-8")
    page.write("speed", "new", path)
    assert path.read_text(encoding="utf-8") == marked.format("new")
    with pytest.raises(BenchmarkError, match="lacks"):
        page.write("layers", "new", path)
    assert all(f"<!-- {part}:begin -->" in page.PAGE.read_text(encoding="utf-8") for part in ("speed", "layers"))


def test_the_check_warns_only_of_what_is_clearly_slower() -> None:
    kept = {"timm": suite("timm", {contestants.COLD: row(2.0), contestants.PARSE: row(1.0)})}
    assert "warning" not in check.verdict(2.5, 2, kept)
    assert "warning" in check.verdict(2.7, 2, kept)
    assert "on 2 cores" in check.verdict(2.7, 1, kept)
    assert "no committed measurement" in check.verdict(2.7, 2, {})


def test_the_page_is_not_written_from_too_few_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        speed.main(["--write", "--repeat", "2"])
    assert "fewer than 5" in capsys.readouterr().err


def test_the_halves_hold_every_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpora, "PACKAGES", {"one": "1", "two": "2"})
    for at in range(20):
        for folder in ("one-1/one", "two-2/two/.hidden"):
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
            (tmp_path / folder / f"file{at}.py").write_text(f"x = {at}\n", encoding="utf-8")
            (tmp_path / folder / f"file{at}.txt").touch()
    whole, halves = trees.eleven(tmp_path), trees.halves(tmp_path)
    names = [{p.relative_to(tree.path) for p in tree.path.rglob("*.*") if p.is_file()} for tree in (whole, *halves)]
    assert whole.files == 40
    assert all(half.files for half in halves)
    assert names[1] | names[2] == names[0]
    assert not names[1] & names[2]
    assert sum(half.size for half in halves) == whole.size


@pytest.fixture
def checkout(tmp_path: Path) -> Git:
    """A repository in which another commit has followed the first."""
    git = Git(tmp_path / "checkout")
    git.write("torchlint/a.py", "x = 1\n")
    git.commit()
    git.commit(later="y = 2\n")
    return git


def test_measurements_are_too_old_after_too_many_commits(checkout: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    first = checkout("rev-parse", "HEAD~1").strip()
    assert commits.ages([first], checkout.folder) == {first: 1}
    assert commits.problem([first], checkout.folder) == ""
    monkeypatch.setattr(commits, "MOST", 0)
    assert commits.problem([first], checkout.folder).startswith(f"1 commits have followed {first}")


def test_measurements_that_are_too_old_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits, "problem", lambda given: "too old" if given == ["0123456789"] else "")
    old = suite("timm", {contestants.COLD: row(2.0)})
    new = replace(old, name="utils", commit="9876543210")
    assert speed._of_late({"timm": old, "utils": new}) == {"utils": new}


def test_a_commit_that_is_not_in_the_history_is_too_old(checkout: Git) -> None:
    assert "0123456789 is not in the history" in commits.problem(["0123456789"], checkout.folder)


def test_a_shallow_clone_and_a_folder_without_git_cannot_tell(checkout: Git, tmp_path: Path) -> None:
    first = checkout("rev-parse", "HEAD~1").strip()
    checkout("clone", "-q", "--depth", "1", f"file://{checkout.folder}", str(tmp_path / "shallow"))
    for folder in (tmp_path / "shallow", tmp_path):
        assert commits.ages([first], folder) == {first: None}
        assert commits.problem([first], folder) == ""


def test_only_what_is_committed_is_measured_for_the_page(checkout: Git) -> None:
    assert checkout("rev-parse", "HEAD").startswith(commits.measured(checkout.folder))
    checkout.write("notes.md", "not measured\n")
    assert commits.measured(checkout.folder)
    checkout.write("torchlint/a.py", "x = 3\n")
    with pytest.raises(BenchmarkError, match="commit what is measured first"):
        commits.measured(checkout.folder)


def test_the_page_shows_the_measurements_that_are_committed() -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert f"<!-- speed:begin -->\n{table.page(record.load())}\n<!-- speed:end -->" in text


needs_wait4 = pytest.mark.skipif(sys.platform == "win32", reason="processes cannot be waited for one by one")


def place(folder: Path) -> Place:
    return Place(folder, dict(os.environ))


@needs_wait4
def test_the_peak_is_that_of_the_largest_process_below(tmp_path: Path) -> None:
    # Measured from a small process: a new one starts with the peak of the process that starts it.
    large = "x = bytearray(200_000_000); x[:] = b'1' * len(x)"
    parent = f"import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', {large!r}]))"
    code = f"""
import pathlib, sys
from timing.measure import Place, run
here = Place(pathlib.Path({str(tmp_path)!r}), {{}})
print(*(run((sys.executable, "-c", code), here).peak for code in ("pass", {parent!r})))
"""
    benchmarks = Path(speed.__file__).parent
    done = subprocess.run([sys.executable, "-c", code], cwd=benchmarks, capture_output=True, text=True, check=True)
    small, most = map(float, done.stdout.split())
    assert small < 100
    assert most > 200


@needs_wait4
def test_of_a_long_output_both_ends_are_kept(tmp_path: Path) -> None:
    done = run((sys.executable, "-c", "print('begin', 'x' * 50_000, 'end')"), place(tmp_path))
    assert done.output.startswith("begin")
    assert done.output.endswith("end\n")
    assert len(done.output) < 20_000


@needs_wait4
def test_contestants_take_turns_and_warm_up_unnoted(tmp_path: Path) -> None:
    log = tmp_path / "log"

    def contestant(name: str, repeat: int, *, warm_up: bool = False) -> Contestant:
        code = f"open({str(log)!r}, 'a').write({name!r})"
        return Contestant(name, (sys.executable, "-c", code), repeat, _ended_well, warm_up=warm_up)

    rows = measure([contestant("a", 3), contestant("b", 2, warm_up=True), contestant("c", 1)], place(tmp_path))
    assert log.read_text(encoding="utf-8") == "b" + "abc" + "ba" + "a"
    assert {name: len(found.wall) for name, found in rows.items()} == {"a": 3, "b": 2, "c": 1}


@needs_wait4
def test_a_contestant_that_did_not_do_its_work_ends_the_measurement(tmp_path: Path) -> None:
    failing = Contestant("broken", (sys.executable, "-c", "raise SystemExit('words')"), 1, _ended_well)
    with pytest.raises(BenchmarkError, match="broken ended with 1: words"):
        measure([failing], place(tmp_path))


def _ended_well(done: Done) -> bool:
    return done.status == 0


@needs_wait4
@pytest.mark.exhaustive
def test_without_each_layer_the_same_is_found(tmp_path: Path) -> None:
    code = "import torch\n\n\ndef f(loader, device):\n    for x in loader:\n        torch.zeros(3).to(device)\n"
    (tmp_path / "case.py").write_text(code, encoding="utf-8")
    (tmp_path / "plain.py").write_text("import torch\n", encoding="utf-8")
    found = layers.layer_prices(layers.Bench([tmp_path], tmp_path, repeat=1))
    prices = [price for several in found.values() for price in several]
    assert {price.name for price in prices if not price.same} == set()
    assert {price.name for price in prices} > {layer.name for layer in switches.LAYERS}
    parsed = {price.name: price.parsed for price in found[switches.ONE_PROCESS]}
    assert (parsed["ordinary"], parsed["prefilters of files"]) == (1, 2)


@needs_wait4
def test_the_cost_of_a_rule_is_measured_beside_all_and_no_rules(tmp_path: Path) -> None:
    (tmp_path / "case.py").write_text("import torch\nx = torch.zeros(3).to(device)\n", encoding="utf-8")
    prices = layers.rule_prices(layers.Bench([tmp_path], tmp_path, repeat=1), ["TL102", "TL104"])
    parsed = {price.name: price.parsed for price in prices}
    assert parsed == {"ordinary": 1, "no rule": 0, "without TL102": 1, "TL102": 0, "without TL104": 0, "TL104": 1}


def test_the_tables_of_layers_and_rules_are_in_percent_of_the_ordinary_run() -> None:
    ordinary = layers.Price("ordinary", 1.0, 9, same=True)
    off = layers.Price("light trees", 2.5, 9, same=False)
    text = layers.layer_table({switches.ONE_PROCESS: [ordinary, off]})
    assert "| light trees | 150.0 % | 9 | one process, **with other findings** |" in text
    rest, alone = layers.Price("without TL101", 0.9, 7, same=False), layers.Price("TL101", 0.5, 4, same=False)
    text = layers.rule_table([ordinary, layers.Price("no rule", 0.3, 2, same=False), rest, alone])
    assert "| TL101 | 10.0 % | 2 | 20.0 % | 4 |" in text
