"""Tools of those who work on torchlint's rules; `python -m torchlint.dev` lists them. They read and write this repository."""
