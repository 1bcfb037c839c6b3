"""Tests of torchlint."""
