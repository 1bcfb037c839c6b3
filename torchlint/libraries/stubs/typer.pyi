"""Typer 0.16 (``main.py``): calls a function with the options that the command line gives."""

from torchlint_stubs import called_with_options

def run(function):
    called_with_options(function)
