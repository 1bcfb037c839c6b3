"""The one user of Ray: starts it on this machine or connects to a cluster, and runs tasks by Ray Data."""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from torchlint.base.version import __version__
from torchlint.scan.problems import ScanError, reason

Task = Callable[[Any], Any]
_OBJECTS = 100_000_000  # bytes of Ray's object store, which holds hardly anything here


@contextmanager
def connected(address: str | None, jobs: int) -> Iterator[None]:
    """Ray on this machine with so many processes, or the cluster at an address. Raises ``ScanError``.

    In a program that is connected to Ray already, that connection is used.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    import ray

    if ray.is_initialized():
        yield
        return
    # Sockets are in this folder, and their paths must be short.
    folder = tempfile.mkdtemp(prefix="torchlint-", dir="/tmp" if os.name == "posix" else None)
    start = partial(ray.init, log_to_driver=False, logging_level=logging.CRITICAL)
    logging.disable()  # what Ray has to say is in its own log; a task that dies is in the tables of the scan
    try:
        with _in_folder(folder):
            if address is not None:
                start(address=address)
            else:
                start(num_cpus=jobs, object_store_memory=_OBJECTS, include_dashboard=False, _temp_dir=folder)
        _ignore_messages()
        yield
    except (ray.exceptions.RayError, RuntimeError, ConnectionError) as error:
        if isinstance(error.__context__, KeyboardInterrupt):  # Ray was interrupted while it held a lock
            raise KeyboardInterrupt from None
        where = f"--address {address}" if address is not None else "on this machine"
        raise ScanError(f"Ray failed {where}: {reason(error)}") from None
    finally:
        ray.shutdown()
        logging.disable(logging.NOTSET)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _in_folder(folder: str) -> Iterator[None]:
    """Make a folder the current one: Ray puts that on the module path of its processes.

    Modules and entry points in the folder in which a scan is started must not be imported.
    """
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def each(task: Task, items: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Run a task for each item (both of plain data): the item, and the result or an exception, as they are done."""
    import ray.data
    from ray.data import DataContext

    if not items:
        return
    context: Any = DataContext.get_current()
    context.enable_progress_bars = False
    context.max_errored_blocks = -1  # a task that fails does not end the others
    todo = [{"item": json.dumps(item)} for item in items]
    data = ray.data.from_items(todo, override_num_blocks=len(todo))
    for done in data.map(partial(_done, task, __version__), num_cpus=1).iter_rows():
        result = json.loads(done["result"])
        failed = result.get("failed")
        yield json.loads(done["item"]), ScanError(failed) if failed is not None else result["result"]


def _done(task: Task, version: str, row: dict[str, str]) -> dict[str, str]:
    """Run a task in a process of Ray."""
    try:
        if version != __version__:
            raise ScanError(f"this machine has torchlint {__version__} and not {version}")
        result = {"result": task(json.loads(row["item"]))}
    except Exception as error:
        result = {"failed": reason(error)}
    return {"item": row["item"], "result": json.dumps(result)}


def _ignore_messages() -> None:
    """Do not print what Ray says about processes that died, for which it has no option."""
    from ray._private import worker

    worker._worker_logs_enabled = False
