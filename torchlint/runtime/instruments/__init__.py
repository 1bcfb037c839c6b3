"""Instruments: every class in these modules is found automatically."""

from __future__ import annotations

import importlib
import pkgutil

from torchlint.runtime.instrument import Instrument, Watch


def classes() -> list[type[Instrument]]:
    """The instruments of this package, in order of modules."""
    names = sorted(module.name for module in pkgutil.iter_modules(__path__, f"{__name__}."))
    modules = [importlib.import_module(name) for name in names]
    return [
        found
        for module in modules
        for found in vars(module).values()
        if isinstance(found, type) and issubclass(found, Instrument) and found.__module__ == module.__name__
    ]


def made(watch: Watch) -> list[Instrument]:
    """The instruments that are active in this run."""
    return [instrument(watch) for instrument in classes() if instrument.wanted(watch)]
