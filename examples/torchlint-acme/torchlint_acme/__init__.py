"""Rules of ACME for torchlint."""
