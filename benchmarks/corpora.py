"""Downloads real code to lint: pinned releases of well-known packages, kept outside the repository.

Prints the folder of each corpus. ``--check`` lints each of them and fails on a crash, a hang or an internal error, not
on findings. Code of a corpus is never imported or executed.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = {
    "accelerate": "1.15.0",
    "diffusers": "0.42.1",
    "fastai": "2.8.12",
    "kornia": "0.9.0",
    "monai": "1.6.1",
    "speechbrain": "1.1.2",
    "stable-baselines3": "2.9.2",
    "timm": "1.0.31",
    "torch-geometric": "2.8.1",
    "transformers": "5.23.0",
    "ultralytics": "8.4.190",
}
# Whole packages that are linted with and without shortcuts in CI, in a few seconds.
SMALL = {"facenet-pytorch": "2.6.0", "lpips": "0.1.4", "thop": "0.1.1.post2209072238"}
INSTALLED = ("stdlib", "torch")
KEPT = (".py", ".ipynb")


class CorpusError(Exception):
    """A corpus that is not available, and the reason."""


@dataclass(frozen=True)
class Corpus:
    """A named folder of Python files."""

    name: str
    version: str
    path: Path


@dataclass(frozen=True)
class Check:
    """The result of linting one corpus; ``failure`` is empty on success."""

    corpus: Corpus
    files: int
    findings: int
    seconds: float
    failure: str


def default_cache() -> Path:
    """The folder for corpora in this user's cache folder."""
    if os.name == "nt":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "torchlint-corpora"


def fetch(name: str, cache: Path) -> Corpus:
    """A corpus, downloaded and unpacked unless it is in the cache."""
    if name in INSTALLED:
        return _installed(name)
    pinned = {**PACKAGES, **SMALL}
    if name not in pinned:
        raise CorpusError(f"no corpus {name!r}; there are {', '.join((*pinned, *INSTALLED))}")
    version = pinned[name]
    folder = cache / f"{name}-{version}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            archive = _download(f"{name}=={version}", Path(scratch) / "archive")
            unpacked = Path(scratch) / "unpacked"
            unpack(archive, unpacked)
            unpacked.replace(folder)
    return Corpus(name, version, folder)


def check(corpus: Corpus, timeout: float) -> Check:
    """Lint a corpus as a user would, without a cache, and report failures."""
    options = ("--isolated", "--no-cache", "--output-format", "json")
    command = [sys.executable, "-m", "torchlint", "check", *options, str(corpus.path)]
    start = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return Check(corpus, 0, 0, timeout, f"still running after {timeout:.0f} s")
    return _judge(corpus, done, time.perf_counter() - start)


def shortcuts(corpus: Corpus, timeout: float) -> Check:
    """Lint a corpus normally, and with LibCST parsing everything for every rule: both must print the same."""
    options = ("--isolated", "--no-cache", "--preview", "--output-format", "json")
    command = [sys.executable, "-m", "torchlint", "check", *options, str(corpus.path)]
    start, outputs = time.perf_counter(), []
    for more in ((), ("--exhaustive",)):
        try:
            done = subprocess.run([*command, *more], capture_output=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            return Check(corpus, 0, 0, timeout, f"still running after {timeout:.0f} s")
        outputs.append(done.stdout)
    seconds = time.perf_counter() - start
    try:
        document = json.loads(outputs[0])
    except ValueError:
        return Check(corpus, 0, 0, seconds, "no JSON")
    failure = "" if outputs[0] == outputs[1] else "shortcuts change the output"
    return Check(corpus, document["summary"]["files"], len(document["findings"]), seconds, failure)


def _judge(corpus: Corpus, done: subprocess.CompletedProcess[str], seconds: float) -> Check:
    try:
        document = json.loads(done.stdout)
    except ValueError:
        failure = f"status {done.returncode}, no JSON: {done.stderr[-2000:].strip()}"
        return Check(corpus, 0, 0, seconds, failure)
    failure = ""
    if done.returncode not in (0, 1) or document["errors"]:
        said = "; ".join(json.dumps(error) for error in document["errors"][:5])
        failure = f"status {done.returncode}: {said or done.stderr[-2000:].strip()}"
    elif "Traceback" in done.stderr:
        failure = done.stderr[-2000:].strip()
    elif not document["summary"]["files"]:
        failure = "not one file was linted"
    return Check(corpus, document["summary"]["files"], len(document["findings"]), seconds, failure)


def _installed(name: str) -> Corpus:
    if name == "stdlib":
        return Corpus(name, sys.version.split()[0], Path(sysconfig.get_path("stdlib")))
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise CorpusError(f"{name} is not installed here; `pip install -e '.[dev-runtime]'` brings it")
    folder = Path(found.origin).parent
    versions = sorted(folder.parent.glob(f"{name}-*.dist-info"))
    version = versions[0].name.removesuffix(".dist-info").partition("-")[2] if versions else "unknown"
    return Corpus(name, version, folder)


def _download(requirement: str, target: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(target)]
    for kind in ("--only-binary=:all:", "--no-binary=:all:"):
        done = subprocess.run([*command, kind, requirement], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return next(target.iterdir())
    raise CorpusError(f"cannot download {requirement}: {done.stderr[-1000:].strip()}")


def unpack(archive: Path, target: Path) -> None:
    """Write the Python files and notebooks of a wheel or a tar archive to a new folder."""
    target.mkdir()
    for name, data in _members(archive):
        path = (target / name).resolve()
        if not path.is_relative_to(target.resolve()):
            raise CorpusError(f"{archive.name} holds {name}, which lies outside it")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def _members(archive: Path) -> Iterator[tuple[str, bytes]]:
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as wheel:
            yield from ((name, wheel.read(name)) for name in wheel.namelist() if name.endswith(KEPT))
        return
    with tarfile.open(archive) as sdist:
        for member in sdist:
            stream = sdist.extractfile(member) if member.isfile() and member.name.endswith(KEPT) else None
            if stream is not None:
                yield member.name, stream.read()


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where corpora are kept (%(default)s)")
    parser.add_argument(
        "--only",
        type=lambda text: text.split(","),
        default=list(PACKAGES),
        metavar="NAME,...",
        help=f"some of {', '.join(PACKAGES)} (default: all), {', '.join(SMALL)}, or {', '.join(INSTALLED)}",
    )
    parser.add_argument("--folder", type=Path, action="append", help="take this folder instead of packages")
    parser.add_argument("--check", action="store_true", help="run torchlint over each and report what breaks")
    parser.add_argument("--shortcuts", action="store_true", help="compare the output with every shortcut off")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for one corpus with --check (%(default)s)")
    parser.add_argument("--clean", action="store_true", help="empty the cache folder's pinned corpora first")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> int:
    """Download the selected corpora; 1 if a check failed, 2 if a corpus is not available."""
    options = _arguments(argv)
    failed = False
    try:
        for corpus in _selected(options):
            print(corpus.path, flush=True)
            if options.check:
                failed |= _report(check(corpus, options.timeout))
            if options.shortcuts:
                failed |= _report(shortcuts(corpus, options.timeout))
    except CorpusError as problem:
        print(f"corpora: {problem}", file=sys.stderr)
        return 2
    return int(failed)


def _selected(options: argparse.Namespace) -> Iterator[Corpus]:
    if options.folder:
        yield from (Corpus(folder.name, "as it is", folder) for folder in options.folder)
        return
    for name in options.only:
        if options.clean and name in PACKAGES:
            shutil.rmtree(options.cache / f"{name}-{PACKAGES[name]}", ignore_errors=True)
        yield fetch(name, options.cache)


def _report(result: Check) -> bool:
    label = f"{result.corpus.name} {result.corpus.version}"
    print(f"  {label}: {result.files} files, {result.findings} findings, {result.seconds:.1f} s", flush=True)
    if result.failure:
        print(f"  {label} FAILED: {result.failure}", flush=True)
    return bool(result.failure)


if __name__ == "__main__":
    raise SystemExit(main())
