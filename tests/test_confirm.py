"""``torchlint confirm`` as its users run it: programs of all kinds, and what becomes of them."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.companion_help import CONFIRM, TRAINING, confirm, confirmed, run, verdict, warm_run, write
from torchlint.confirm.prepare import Program, files_of

pytest.importorskip("torch")
pytestmark = pytest.mark.slow


# -- observation changes nothing -----------------------------------------------------------------


def test_an_observed_program_prints_the_same_bits(tmp_path: Path) -> None:
    write(tmp_path, TRAINING)
    plain = warm_run(tmp_path, "-m", "program")
    for start, on in ((run, "sim"), (warm_run, "sim"), (warm_run, "cpu")):
        observed = start(tmp_path, *CONFIRM, on, "--fail-on", "never", "--", "program.py")
        assert plain.returncode == observed.returncode == 0, observed.stderr
        assert observed.stdout == plain.stdout


def test_an_observed_program_fails_with_the_same_traceback(tmp_path: Path) -> None:
    source = """
        import torch

        def last(x):
            return x.item() + missing

        def main():
            x = torch.ones(1, device="cuda" if torch.cuda.is_available() else "cpu")
            try:
                for _ in range(3):
                    x.backward(); total = last(x)
            except RuntimeError:
                last(x)

        main()
        """
    write(tmp_path, source)
    plain = warm_run(tmp_path, "-m", "program")
    traceback = plain.stderr[plain.stderr.index("NameError: ") - 200 :]
    assert "NameError: name 'missing' is not defined" in traceback
    for on in ("sim", "cpu"):
        observed = confirm(tmp_path, "--", "program.py", on=on)
        assert plain.returncode == observed.returncode == 1
        assert traceback in observed.stderr
        assert "torchlint/runtime" not in observed.stderr
        assert "the run ended early: NameError at program.py:4" in observed.stderr


def test_a_program_keeps_its_exit_status(tmp_path: Path) -> None:
    write(tmp_path, "import sys, torch\nprint('out')\nsys.exit(5)\n")
    observed = confirm(tmp_path, "--", "program.py")
    assert observed.returncode == 5
    assert observed.stdout == "out\n"
    assert "the run ended early: exit 5" in observed.stderr


def test_arguments_and_main_are_those_of_the_program(tmp_path: Path) -> None:
    source = """
        import os, sys
        import helper

        print(__name__, sys.argv, os.path.basename(__file__), sys.path[0] == os.path.dirname(os.path.abspath(__file__)))
        print(sys.modules["__main__"].__dict__ is globals(), helper.VALUE)
        """
    write(tmp_path, source, "sub/program.py")
    write(tmp_path, "VALUE = 3\n", "sub/helper.py")
    plain = run(tmp_path, "sub/program.py", "--lr", "1")
    observed = confirm(tmp_path, "--", "sub/program.py", "--lr", "1", on="cpu")
    assert observed.stdout == plain.stdout


def test_a_module_of_the_current_folder_does_not_shadow_the_standard_library(tmp_path: Path) -> None:
    write(tmp_path, "raise ImportError('not the standard library')\n", "random.py")
    write(tmp_path, "raise ImportError('not the standard library')\n", "json.py")
    write(
        tmp_path, "import random, torch\nprint(random.__file__ != 'random.py', torch.ones(2).sum())\n", "sub/program.py"
    )
    observed = run(tmp_path, *CONFIRM, "cpu", "--", "sub/program.py")
    assert (observed.returncode, observed.stdout) == (0, "True tensor(2.)\n"), observed.stderr


def test_packages_that_pip_has_installed_into_a_folder_of_the_path_are_not_linted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = write(tmp_path / "program", "import installed, own\n")
    for folder, name in (("target", "installed"), ("checkout", "own")):
        write(tmp_path / folder, "", f"{name}.py")
    (tmp_path / "target" / "installed-1.0.dist-info").mkdir()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(str(tmp_path / name) for name in ("target", "checkout", "gone")))
    found = files_of(Program(str(program), None, (), os.path.realpath(program)))
    assert sorted(Path(path).name for path in found) == ["own.py", "program.py"]


def test_imported_modules_are_confirmed_and_their_byte_code_is_left_alone(tmp_path: Path) -> None:
    write(tmp_path, "from package.train import train\ntrain()\n")
    body = "\n".join(f"    {line}" for line in TRAINING.splitlines())
    write(tmp_path, f"def train():\n{body}\n", "package/train.py")
    write(tmp_path, "", "package/__init__.py")
    document = confirmed(tmp_path, "--", "program.py")
    assert verdict(document, "TL301")["status"] == "confirmed"
    assert not list(tmp_path.glob("package/__pycache__/train.*"))


def test_a_module_is_run_as_python_runs_it(tmp_path: Path) -> None:
    write(tmp_path, "import sys\nprint(__name__, __package__, sys.argv[1:])\n" + TRAINING, "package/train.py")
    write(tmp_path, "", "package/__init__.py")
    plain = warm_run(tmp_path, "-m", "package.train", "--lr", "1")
    document = confirmed(tmp_path, "--", "-m", "package.train", "--lr", "1")
    assert document["stdout"] == plain.stdout
    assert verdict(document, "TL301")["count"] == 8


# -- how programs end ----------------------------------------------------------------------------

REACHED_LATE = TRAINING.replace(
    "    total += loss.item()\n",
    "    if len(__file__) < 2:\n        total += loss.item()\n",
)


def test_a_killed_program_leaves_no_not_reached(tmp_path: Path) -> None:
    write(tmp_path, REACHED_LATE + "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    document = confirmed(tmp_path, "--", "program.py")
    assert document["status"] == 128 + signal.SIGKILL
    assert verdict(document, "TL301")["status"] == "unknown"
    assert "was killed" in verdict(document, "TL301")["reason"]


def test_a_program_that_is_told_to_end_leaves_its_evidence(tmp_path: Path) -> None:
    write(tmp_path, TRAINING + "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n")
    document = confirmed(tmp_path, "--", "program.py")
    assert document["status"] == 128 + signal.SIGTERM
    assert verdict(document, "TL301")["count"] == 8


def test_a_run_that_nothing_prevents_from_going_on_is_ended(tmp_path: Path) -> None:
    write(tmp_path, REACHED_LATE + "import time\nwhile True:\n    time.sleep(0.1)\n")
    document = confirmed(tmp_path, "--seconds", "2", "--", "program.py")
    assert document["status"] in (0, 1)
    assert document["run"]["ended"]["how"] == "seconds"
    assert verdict(document, "TL301")["status"] == "unknown"


def test_a_run_is_ended_after_so_many_steps(tmp_path: Path) -> None:
    write(tmp_path, TRAINING)
    document = confirmed(tmp_path, "--steps", "3", "--", "program.py")
    assert (document["run"]["steps"], document["status"]) == (3, 1)
    assert "the run was ended after 3 steps" in document["run"]["gap"]


def test_a_missing_not_reached_is_said_when_a_worker_was_killed(tmp_path: Path) -> None:
    source = """
        import os, signal
        import numpy as np
        import torch
        import torch.multiprocessing as mp

        def work():
            os.kill(os.getpid(), signal.SIGKILL)
            a = np.ones((4, 4), dtype=np.float32)
            return torch.tensor(a * 2)

        if __name__ == "__main__":
            child = mp.get_context("fork").Process(target=work)
            child.start()
            child.join()
        """
    write(tmp_path, source)
    found = verdict(confirmed(tmp_path, "--", "program.py"), "TL101")
    assert (found["status"], found["reason"][-51:]) == (
        "unknown",
        "evidence of 1 of 1 child processes is missing"[-51:],
    ) or ("evidence of 1 of 1 child process" in found["reason"])


def test_spawned_workers_are_observed(tmp_path: Path) -> None:
    source = """
        import numpy as np
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Images(Dataset):
            def __init__(self):
                self.x = np.ones((16, 3, 8, 8), dtype=np.float32)

            def __len__(self):
                return 16

            def __getitem__(self, i):
                return torch.tensor(self.x[i])

        if __name__ == "__main__":
            for batch in DataLoader(Images(), batch_size=4, num_workers=1, multiprocessing_context="spawn"):
                print(batch.shape)
        """
    write(tmp_path, source)
    document = confirmed(tmp_path, "--", "program.py")
    assert verdict(document, "TL101")["count"] == 16
    assert document["run"]["processes"] == 2


def test_a_forked_child_does_not_count_twice(tmp_path: Path) -> None:
    fork = "import os\nchild = os.fork()\nif child == 0:\n    os._exit(0)\nos.waitpid(child, 0)\n"
    write(tmp_path, TRAINING + fork)
    document = confirmed(tmp_path, "--", "program.py")
    assert verdict(document, "TL301")["count"] == 8


def test_a_program_may_write_into_the_evidence_folder(tmp_path: Path) -> None:
    write(tmp_path, TRAINING + "open('kept/evidence-note.txt', 'w').write('mine')\n")
    document = confirmed(tmp_path, "--evidence", "kept", "--", "program.py")
    assert verdict(document, "TL301")["status"] == "confirmed"
    assert (tmp_path / "kept" / "evidence-note.txt").read_text(encoding="utf-8") == "mine"


def test_a_program_that_deletes_the_evidence_is_told_of(tmp_path: Path) -> None:
    source = "import shutil, atexit\nimport torch\nopen('kept', 'a').close() if False else shutil.rmtree('kept')\n"
    write(tmp_path, source + "open('kept', 'w').close()\n")
    done = confirm(tmp_path, "--evidence", "kept", "--", "program.py")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "holds no evidence of this run" in done.stderr


def test_a_program_that_sets_its_own_rank_is_one_process(tmp_path: Path) -> None:
    write(tmp_path, "import os\n" + TRAINING + "\nos.environ['RANK'] = '0'\n")
    done = confirm(tmp_path, "program.py")
    assert "8 optimizer steps, 1 process\n" in done.stderr
    assert "was killed" not in done.stderr


def test_two_ranks_of_torchrun_are_judged_together(tmp_path: Path) -> None:
    source = """
        import os
        import torch
        import torch.distributed as dist
        from torch.nn.parallel import DistributedDataParallel as DDP

        dist.init_process_group("nccl")
        torch.cuda.set_device(0)
        torch.manual_seed(0)
        model = DDP(torch.nn.Linear(8, 2).to("cuda"), device_ids=[0])
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        total = 0.0
        for step in range(5):
            loss = model(torch.ones(4, 8, device="cuda")).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(total)
        dist.destroy_process_group()
        """
    write(tmp_path, source)
    launch = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone"]
    report = ["--output-format", "json", "--output-file", "report.json", "--fail-on", "never"]
    command = ["-m", "torchlint", "confirm", "--isolated", "--on", "sim", *report, "--", "program.py"]
    done = run(tmp_path, *launch, *command, OMP_NUM_THREADS="1")
    if "terminate called without an active exception" in done.stderr:  # now and then, a thread of torch outlives it
        done = run(tmp_path, *launch, *command, OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr[-3000:]
    document = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert document["run"]["ranks"] == ["0", "1"]
    assert verdict(document, "TL301")["count"] == 10
    assert verdict(document, "TL301")["per_step"] == 1.0


# -- reports -------------------------------------------------------------------------------------


def test_the_report_says_what_a_step_costs(tmp_path: Path) -> None:
    write(tmp_path, TRAINING + "for x in loader:\n    optimizer.step()\n    vars(torch)['nonzero'](loss)\n")
    document = confirmed(tmp_path, "--", "program.py")
    totals = document["totals"]
    assert totals["uploads"] == pytest.approx(7 / 15)
    assert totals["upload_bytes"] == pytest.approx(7 * 128 / 15)
    assert document["unflagged"][0]["line"] == 19
    assert document["unflagged"][0]["kind"] == "synchronization"


def test_findings_of_a_report_are_confirmed(tmp_path: Path) -> None:
    write(tmp_path, TRAINING)
    linted = run(
        tmp_path, "-m", "torchlint", "--isolated", "--select", "TL301", "--output-format", "json", "program.py"
    )
    (tmp_path / "findings.json").write_text(linted.stdout, encoding="utf-8")
    document = confirmed(tmp_path, "--findings", "findings.json", "--", "program.py")
    assert [finding["rule"] for finding in document["findings"]] == ["TL301"]


def test_a_budget_that_is_kept_and_one_that_is_not(tmp_path: Path) -> None:
    write(tmp_path, TRAINING)
    write(tmp_path, "[tool.torchlint.budget]\nsynchronizations = 2\n", "kept.toml")
    write(tmp_path, "synchronizations = 1\nupload-bytes = 1000\n", "over.toml")
    kept = confirm(tmp_path, "--fail-on", "never", "--budget", "kept.toml", "--", "program.py")
    assert kept.returncode == 0, kept.stderr
    over = confirm(tmp_path, "--fail-on", "never", "--budget", "over.toml", "--", "program.py")
    assert over.returncode == 1
    assert "over budget: 2 synchronizations a step, 1 allowed: program.py:11 (1), program.py:15 (1)" in over.stderr


# -- evidence, judged again ----------------------------------------------------------------------


def test_evidence_is_judged_again_without_torch(tmp_path: Path) -> None:
    write(tmp_path, TRAINING)
    first = confirmed(tmp_path, "--evidence", "kept", "--", "program.py")
    without = (
        "import sys; sys.modules['torch'] = None; from torchlint.cli.main import main; "
        "sys.exit(main(['verdict', 'kept', '--isolated', '--output-format', 'json']))"
    )
    done = run(tmp_path, "-c", without)
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["findings"] == first["findings"]


def test_evidence_outlives_the_checkout(tmp_path: Path) -> None:
    program = write(tmp_path, TRAINING)
    first = confirmed(tmp_path, "--evidence", "kept", "--", "program.py")
    program.unlink()
    done = run(tmp_path, "-m", "torchlint", "verdict", "kept", "--isolated", "--output-format", "json")
    assert done.returncode == 1, done.stderr
    again = json.loads(done.stdout)
    assert again["findings"] == first["findings"]
    assert any("has changed since" in note for note in again["run"]["notes"])


def test_a_trace_of_some_steps_is_written_for_perfetto(tmp_path: Path) -> None:
    write(tmp_path, TRAINING)
    confirmed(tmp_path, "--trace", "trace.json", "--", "program.py")
    trace = json.loads((tmp_path / "trace.json").read_text(encoding="utf-8"))
    steps = [event for event in trace["traceEvents"] if event.get("cat") == "training"]
    assert [step["name"] for step in steps] == [f"step {number} (training)" for number in (1, 2, 4)]
    copies = [event for event in trace["traceEvents"] if event["name"] == "upload program.py:11"]
    assert [copy["args"]["bytes"] for copy in copies] == [128, 128, 128]
    for step, copy in zip(steps, copies, strict=True):
        assert step["ts"] <= copy["ts"] <= step["ts"] + step["dur"]


def test_evidence_says_in_which_steps_and_by_whom(tmp_path: Path) -> None:
    training = TRAINING.replace("total += loss.item()", "total += read(loss)")
    body = "\n".join(f"    {line}" for line in training.splitlines())
    write(tmp_path, f"def read(loss):\n    return loss.item()\n\ndef train():\n{body}\n\ntrain()\n")
    confirmed(tmp_path, "--evidence", "kept", "--", "program.py")
    evidence = json.loads(next((tmp_path / "kept").glob("evidence-*.json")).read_text(encoding="utf-8"))
    (found,) = [event for event in evidence["events"] if event["kind"] == "sync"]
    assert [(line, name) for _, line, name in found["callers"]] == [(2, "read"), (20, "train"), (23, "<module>")]
    assert found["steps"] == [[2, 8, 7]]  # what happens after a step belongs to the next
    (batches,) = [event for event in evidence["events"] if event["kind"] == "batch"]
    low, median, high = batches["each"]
    assert low <= median <= high
    assert [number for number, _, _ in evidence["steps"]["durations"]] == list(range(1, 9))


def test_stale_truncated_and_foreign_evidence_is_refused(tmp_path: Path) -> None:
    program = write(tmp_path, TRAINING)
    confirmed(tmp_path, "--evidence", "kept", "--", "program.py")
    judge = ["-m", "torchlint", "verdict", "kept", "--isolated"]
    evidence = next((tmp_path / "kept").glob("evidence-*.json"))
    whole = evidence.read_text(encoding="utf-8")
    document = json.loads(whole)
    evidence.write_text(json.dumps({**document, "sources": {}}), encoding="utf-8")
    program.write_text(TRAINING + "\n", encoding="utf-8")
    stale = run(tmp_path, *judge)
    assert (stale.returncode, "is not what it was" in stale.stderr) == (2, True)
    program.write_text(TRAINING.lstrip("\n"), encoding="utf-8")
    for broken, words in (
        (whole[:-20], "was cut off"),
        (whole.replace('"schema": 2', '"schema": 99'), "another version"),
    ):
        evidence.write_text(broken, encoding="utf-8")
        done = run(tmp_path, *judge)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert words in done.stderr
    assert run(tmp_path, "-m", "torchlint", "verdict", "nothing").stderr.startswith("torchlint: error: ")


# -- what cannot be done -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--", "missing.py"], "missing.py: there is no such file"),
        (["--", "-m", "missing.module"], "there is no such module"),
        (["--"], "there is no program to run"),
        (["--profile", "missing", "--", "program.py"], "there is no profile 'missing'"),
        (["--budget", "missing.toml", "--", "program.py"], "missing.toml: cannot be read"),
        (["--findings", "program.py", "--", "program.py"], "program.py: is not JSON, or was cut off; write it"),
        (["--evidence", "program.py", "--", "program.py"], "cannot be used"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(tmp_path: Path, arguments: list[str], words: str) -> None:
    write(tmp_path, TRAINING)
    done = confirm(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_gpu_that_is_not_there_is_said(tmp_path: Path) -> None:
    write(tmp_path, TRAINING)
    done = confirm(tmp_path, "--", "program.py", on="gpu")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("torchlint: error: --on gpu: ")


def test_a_syntax_error_is_pythons_to_report(tmp_path: Path) -> None:
    write(tmp_path, "import torch\nprint(\n")
    plain = run(tmp_path, "program.py")
    observed = confirm(tmp_path, "--", "program.py", on="cpu")
    assert observed.returncode == plain.returncode == 1
    assert plain.stderr.splitlines()[-1] in observed.stderr


def test_without_torch_the_command_to_install_it_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from torchlint.cli.main import main

    program = write(tmp_path, TRAINING)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert main(["confirm", "--", str(program)]) == 2
    assert 'pip install "torchlint[runtime] @ git+https://' in capsys.readouterr().err


# -- blocks of code, and tests -------------------------------------------------------------------


def test_a_block_of_code_is_observed(tmp_path: Path) -> None:
    inside = "\n".join(f"    {line}" for line in TRAINING.splitlines())
    source = (
        f"from torchlint.runtime import observe\nimport torch\nbefore = torch.Tensor.to\nwith observe():\n{inside}\n"
    )
    write(tmp_path, source + "print(torch.cuda.is_available(), torch.Tensor.to is before)\n")
    done = warm_run(tmp_path, "-m", "program")
    assert done.returncode == 0, done.stderr
    assert "8 synchronizations at program.py:20" in done.stdout
    assert done.stdout.endswith("False True\n")


def test_a_loader_that_was_made_before_the_block_is_not_said_to_be_unused(tmp_path: Path) -> None:
    source = """
        import torch
        from torch.utils.data import DataLoader
        from torchlint.runtime import observe

        loader = DataLoader(torch.randn(32, 8), batch_size=4, num_workers=1)
        with observe(on="sim"):
            device = torch.device("cuda")
            model = torch.nn.Linear(8, 2).to(device)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            for x in loader:
                loss = model(x.to(device)).sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        """
    write(tmp_path, source)
    done = warm_run(tmp_path, "-m", "program")
    assert done.returncode == 0, done.stderr
    assert "its file was not run" not in done.stdout
    assert "8 copies in it came from pageable batches of loaders made earlier" in done.stdout, done.stdout


def test_a_loader_that_a_framework_has_replaced_stands_where_the_program_made_it(tmp_path: Path) -> None:
    source = """
        from torch.utils.data import DataLoader

        def prepared(loader):
            return DataLoader(loader.dataset, batch_size=loader.batch_size, num_workers=loader.num_workers)
        """
    write(tmp_path, source, "site-packages/framework.py")
    training = TRAINING.replace(
        "total = 0.0\n", "from framework import prepared\nloader, total = prepared(loader), 0.0\n"
    )
    path = "import os, sys\nsys.path.append(os.path.join(os.path.dirname(__file__), 'site-packages'))\n"
    program = write(tmp_path, path + training)
    confirmed(tmp_path, "--evidence", "kept", "--", "program.py")
    evidence = json.loads(next((tmp_path / "kept").glob("evidence-*.json")).read_text(encoding="utf-8"))
    (batches,) = [event for event in evidence["events"] if event["kind"] == "batch"]
    line = program.read_text(encoding="utf-8").splitlines()[batches["site"][1] - 1]
    assert line.startswith("loader = DataLoader("), line


@pytest.mark.parametrize("xdist", [(), ("-p", "no:xdist")], ids=["with xdist", "without"])
def test_tests_are_observed(xdist: tuple[str, ...], tmp_path: Path) -> None:
    body = "\n".join(f"    {line}" for line in TRAINING.splitlines())
    write(tmp_path, f"def train():\n{body}\n    return total\n", "training.py")
    write(tmp_path, "from training import train\n\ndef test_training():\n    assert train() > 0\n", "test_it.py")
    # Where torch has been imported before, the plugin has been as well, of which pytest would warn.
    quiet = ("-p", "no:cacheprovider", "-W", "ignore::pytest.PytestAssertRewriteWarning")
    command = ("-m", "pytest", "-q", *quiet, *xdist)
    plain = warm_run(tmp_path, *command)
    assert (plain.returncode, "torchlint" in plain.stdout) == (0, False)
    done = warm_run(tmp_path, *command, "--torchlint-confirm")
    assert done.returncode == 0, done.stdout
    assert "8 synchronizations at training.py:17" in done.stdout


# -- compare and calibrate -----------------------------------------------------------------------

COPIES = """
import numpy as np
import torch

torch.set_num_threads(1)
torch.manual_seed(0)
data = np.random.default_rng(0).random((8, 3, 256, 256), dtype=np.float32)
net = torch.nn.Sequential(torch.nn.Conv2d(3, 2, 8, stride=8), torch.nn.Flatten(), torch.nn.Linear(2048, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(100_000):
    x = torch.tensor(data)
    optimizer.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()
    optimizer.step()
"""


def test_the_worth_of_a_fix_is_measured_in_one_process(tmp_path: Path) -> None:
    write(tmp_path, COPIES)
    command = ["-m", "torchlint", "compare", "--isolated", "--on", "cpu", "--finding", "TL101", "--blocks", "12"]
    refused = run(tmp_path, *command, "--", "program.py")
    assert (refused.returncode, "--unsafe-fixes" in refused.stderr) == (2, True)
    done = warm_run(
        tmp_path, *command, "--unsafe-fixes", "--output-format", "json", "--output-file", "out.json", "--", "program.py"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert found["losses"] == {"compared": 20, "equal": True, "repeatable": True}
    assert found["pairs"] >= 11
    assert found["interval"][0] <= found["ratio"] <= found["interval"][1]


def test_code_of_workers_is_compared_by_pairs_on_the_plain_cpu_and_says_so(tmp_path: Path) -> None:
    source = """
        import numpy as np
        import torch
        from torch.utils.data import DataLoader, Dataset

        class Images(Dataset):
            def __init__(self):
                self.x = np.ones((16, 4), dtype=np.float32)

            def __len__(self):
                return 16

            def __getitem__(self, i):
                return torch.tensor(self.x[i])

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = torch.nn.Linear(4, 1).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for x in DataLoader(Images(), batch_size=4, num_workers=1):
            optimizer.zero_grad()
            model(x.to(device)).sum().backward()
            optimizer.step()
        """
    write(tmp_path, source)
    command = ["-m", "torchlint", "compare", "--isolated", "--finding", "TL101", "--pairs", "2", "--unsafe-fixes"]
    switched = warm_run(tmp_path, *command, "--method", "switch", "--", "program.py")
    assert (switched.returncode, "use --method pairs" in switched.stderr) == (2, True), switched.stderr
    done = warm_run(tmp_path, *command, "--", "program.py")
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert "torchlint: the flagged code does not run in the steps of the main process" in done.stderr
    assert any(line.startswith("torchlint: 1 of 2 pairs of processes: about ") for line in lines)
    assert any(line.startswith("on the CPU: ") for line in lines)
    assert "note: this ran on the plain CPU" in done.stderr


def test_loader_options_are_compared_by_pairs_of_processes(tmp_path: Path) -> None:
    write(tmp_path, TRAINING.replace("batch_size=4", "batch_size=4, num_workers=1"))
    command = ["-m", "torchlint", "compare", "--isolated", "--on", "cpu", "--finding", "TL401", "--pairs", "2"]
    done = warm_run(tmp_path, *command, "--unsafe-fixes", "--", "program.py")
    assert done.returncode == 0, done.stderr
    assert "from 2 pairs of processes" in done.stderr
    assert "the first 8 losses are the same bits in both forms" in done.stderr


def test_calibrating_needs_a_gpu(tmp_path: Path) -> None:
    done = run(tmp_path, "-m", "torchlint", "calibrate")
    assert (done.returncode, done.stdout) == (2, "")
    assert "calibrate needs a GPU" in done.stderr
    assert not list(tmp_path.glob("*.json"))
