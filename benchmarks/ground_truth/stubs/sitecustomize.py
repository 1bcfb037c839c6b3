"""Lets torchvision read small data under the names of CIFAR, whose checksums it would refuse, and is a terminal."""

from __future__ import annotations

import importlib.machinery
import io
import os
import sys
from typing import Any


class _Loader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module: Any) -> None:
        super().exec_module(module)
        module.check_integrity = lambda *_: True


class _Finder:
    @staticmethod
    def find_spec(name: str, path: Any = None, _target: object = None) -> Any:
        if name != "torchvision.datasets.cifar":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(name, spec.origin)
        return spec


def _reply(command: str, *rest: Any) -> Any:
    return io.StringIO("24 80") if command == "stty size" else _popen(command, *rest)


_popen = os.popen
vars(os)["popen"] = _reply
sys.meta_path.insert(0, _Finder())
