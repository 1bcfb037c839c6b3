"""Tools for work on the rules, which read and write this repository; `python -m torchlint.dev` lists them."""
