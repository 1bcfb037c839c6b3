"""Fire 0.7 (``core.py``): calls a function with the options that the command line gives."""

from torchlint_stubs import called_with_options

def Fire(component=None, *args, **kwargs):
    return called_with_options(component)
