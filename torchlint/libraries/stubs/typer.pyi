"""Typer 0.16 (``main.py``): the command line runs commands, and gives them their options."""

from torchlint_stubs import called_with_options, runs

def run(function):
    called_with_options(function)

def Option(default=..., *args, **kwargs):
    return default

Argument = Option

class Typer:
    def command(self, *args, **kwargs):
        def decorated(function):
            runs(function)
            return function
        return decorated
    callback = command
    def add_typer(self, *args, **kwargs): ...
    def __call__(self, *args, **kwargs): ...
