"""Kills, interrupts, full disks and concurrent runs: nothing is lost or half-written, and every fault is one line.

The experiments are those of ``scripts/faults.py``, with lower counts. Those with kills at random times are exhaustive;
a kill at each step of a write is always tried.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import faults
from torchlint.cli.main import main

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked up in /proc")
ROOT = Path(__file__).resolve().parents[1]
GUILTY = "import torch\n\n\ndef f(x):\n    return torch.zeros(3).to(x.device)\n"
FIXED = "import torch\n\n\ndef f(x):\n    return torch.zeros(3, device=x.device)\n"


@pytest.mark.exhaustive
def test_runs_that_are_killed_leave_whole_files(tmp_path: Path) -> None:
    assert faults.kills(6, tmp_path, files=24).faults == []


@pytest.mark.exhaustive
def test_runs_that_are_interrupted_say_so_and_leave_nothing(tmp_path: Path) -> None:
    assert faults.interrupts(15, tmp_path, files=40).faults == []


@pytest.mark.exhaustive
def test_processes_that_are_killed_cost_nothing(tmp_path: Path) -> None:
    assert faults.deaths(5, tmp_path, files=40).faults == []


def test_runs_at_once_say_the_same(tmp_path: Path) -> None:
    assert faults.together(8, tmp_path, files=12).faults == []


def test_repairs_at_once_repair_everything(tmp_path: Path) -> None:
    assert faults.repairs_together(2, tmp_path, files=12).faults == []


# -- killed at each step of a write --------------------------------------------------------------

KILLED_AT = """\
import os, signal, sys

left = int(sys.argv.pop(1))

def hook(event, arguments):
    global left
    ours = event == "fcntl.flock" or any(str(a).endswith(".torchlint") for a in arguments)
    if ours and event in ("open", "fcntl.flock", "os.chown", "os.chmod", "os.rename", "os.remove"):
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(hook)
from torchlint.__main__ import run
sys.exit(run())
"""


def killed_at(step: int, folder: Path) -> int:
    """Repair a folder, and be killed before such a step; gives the status."""
    command = [sys.executable, "-c", KILLED_AT, str(step), "--fix", "--no-cache", "."]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False).returncode


@pytest.mark.slow
def test_a_kill_at_any_step_of_a_write_leaves_whole_files_and_the_next_run_tidies_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ("one.py", "two.py")
    left_beside = 0
    for step in range(30):
        for name in names:
            (tmp_path / name).write_text(GUILTY, encoding="utf-8")
            (tmp_path / name).chmod(0o640)
        status = killed_at(step, tmp_path)
        assert {(tmp_path / name).read_text(encoding="utf-8") for name in names} <= {GUILTY, FIXED}
        left_beside += len(list(tmp_path.glob(".*")))
        assert main(["--fix", "--no-cache", "."]) == 0
        assert {(tmp_path / name).read_text(encoding="utf-8") for name in names} == {FIXED}
        assert {(tmp_path / name).stat().st_mode & 0o777 for name in names} == {0o640}
        assert list(tmp_path.glob(".*")) == []
        if status == 0:
            break
    assert (status, step) == (0, 10)  # five steps a file: open, lock, owner, mode, name
    assert left_beside == 8


def test_a_file_that_another_run_is_writing_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    from torchlint.base import files

    monkeypatch.setattr(files, "_PATIENCE", 0.1)
    file, beside = tmp_path / "train.py", tmp_path / ".train.py.torchlint"
    file.write_text(GUILTY, encoding="utf-8")
    with beside.open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(files.NotWritten, match="by another run"):
            files.rewrite(file, GUILTY.encode(), FIXED.encode(), [str(tmp_path)])
        assert beside.exists()
    files.rewrite(file, GUILTY.encode(), FIXED.encode(), [str(tmp_path)])
    assert file.read_text(encoding="utf-8") == FIXED
    assert not beside.exists()


def test_a_link_in_the_place_of_new_content_is_not_followed(tmp_path: Path) -> None:
    from torchlint.base import files

    file, precious = tmp_path / "train.py", tmp_path / "precious"
    file.write_text(GUILTY, encoding="utf-8")
    precious.write_text("mine", encoding="utf-8")
    (tmp_path / ".train.py.torchlint").symlink_to(precious)
    with pytest.raises(files.NotWritten, match="cannot be written"):
        files.rewrite(file, GUILTY.encode(), FIXED.encode(), [str(tmp_path)])
    assert precious.read_text(encoding="utf-8") == "mine"


def test_a_name_as_long_as_a_name_may_be_is_no_obstacle(tmp_path: Path) -> None:
    file = tmp_path / ("ä" * 126 + ".py")
    file.write_text(GUILTY, encoding="utf-8")
    assert torchlint(tmp_path, "--fix", ".").returncode == 0
    assert file.read_text(encoding="utf-8") == FIXED


# -- disks -----------------------------------------------------------------------------------------


def torchlint(folder: Path, *arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    code = f"{before}\nimport sys\nfrom torchlint.__main__ import run\nsys.exit(run())"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    command = [mount or "", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if not mount or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("disks cannot be mounted here")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def assert_left_alone(folder: Path, done: subprocess.CompletedProcess[str], words: str) -> None:
    assert done.returncode == 2
    assert (folder / "guilty.py").read_text(encoding="utf-8") == GUILTY
    assert done.stdout.count(words) == 1, done.stdout + done.stderr
    assert done.stderr == ""
    assert [path.name for path in folder.glob(".*") if path.name != ".torchlint_cache"] == []


def test_a_full_disk_costs_no_file(disk: Path) -> None:
    (disk / "guilty.py").write_text(GUILTY, encoding="utf-8")
    with pytest.raises(OSError, match="No space"), (disk / "rest").open("wb", buffering=0) as rest:
        while True:
            rest.write(b"x" * 4096)
    assert_left_alone(disk, torchlint(disk, "--fix", "."), "cannot be written: No space left on device")


def test_a_disk_that_is_read_only_is_said_to_be(disk: Path) -> None:
    (disk / "guilty.py").write_text(GUILTY, encoding="utf-8")
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    assert_left_alone(disk, torchlint(disk, "--fix", "."), "cannot be written: Read-only file system")


def test_a_limit_on_the_size_of_files_costs_no_file(tmp_path: Path) -> None:
    (tmp_path / "guilty.py").write_text(GUILTY, encoding="utf-8")
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))"
    assert_left_alone(tmp_path, torchlint(tmp_path, "--fix", ".", before=limit), "cannot be written: File too large")


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_to_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "guilty.py").write_text(GUILTY, encoding="utf-8")
    tmp_path.chmod(0o555)
    assert_left_alone(tmp_path, torchlint(tmp_path, "--fix", "."), "cannot be written: Permission denied")
    tmp_path.chmod(0o755)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no such device")
@pytest.mark.parametrize("options", [[], ["--diff"], ["--show-files"], ["--show-settings"]])
def test_output_that_cannot_be_written_is_one_line_and_status_2(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "guilty.py").write_text(GUILTY, encoding="utf-8")
    command = f"'{sys.executable}' -m torchlint --quiet {' '.join(options)} . > /dev/full"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    wanted = "torchlint: error: standard output: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, wanted)


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
def test_outputs_that_are_closed_are_no_fault(tmp_path: Path, closed: str) -> None:
    (tmp_path / "guilty.py").write_text(GUILTY, encoding="utf-8")
    command = f"'{sys.executable}' -m torchlint --fail-on info . {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout + done.stderr


def test_a_program_that_runs_torchlint_goes_on(tmp_path: Path) -> None:
    (tmp_path / "guilty.py").write_text(GUILTY, encoding="utf-8")
    code = "import runpy, sys\nsys.argv[1:] = ['.']\ntry: runpy.run_module('torchlint', run_name='__main__')\n"
    code += "except SystemExit: print('went on')\nfrom torchlint.__main__ import run\nrun()\nprint('and on')"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "went on" in done.stdout
    assert done.stdout.endswith("and on\n")


def test_a_profiler_sees_the_end_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "guilty.py").write_text(GUILTY, encoding="utf-8")
    command = [sys.executable, "-m", "cProfile", "-m", "torchlint", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "cumtime" in done.stdout


def test_a_current_folder_that_is_gone_is_one_line_and_status_2(tmp_path: Path) -> None:
    command = f"mkdir gone; cd gone; rmdir ../gone; '{sys.executable}' -m torchlint"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["sh", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    wanted = "torchlint: error: the current folder: No such file or directory\n"
    assert (done.returncode, done.stderr) == (2, wanted)


# -- signals ---------------------------------------------------------------------------------------

HELD = """\
import os, signal, sys
from torchlint.base import interrupts

interrupts.take()
with interrupts.held():
    os.kill(os.getpid(), signal.{name})
    print("finished", flush=True)
print("never")
"""


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("SIGINT", 130, "torchlint: interrupted\n"),
        ("SIGTERM", 143, "torchlint: ended by SIGTERM\n"),
        ("SIGHUP", 129, "torchlint: ended by SIGHUP\n"),
    ],
)
def test_a_signal_waits_for_a_write_and_no_longer(name: str, status: int, said: str) -> None:
    command = [sys.executable, "-c", HELD.format(name=name)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (status, "finished\n", said)


def test_what_nohup_ignores_stays_ignored() -> None:
    code = HELD.format(name="SIGHUP").replace("never", "goes on")
    command = ["nohup", sys.executable, "-c", code]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "finished\ngoes on\n")
