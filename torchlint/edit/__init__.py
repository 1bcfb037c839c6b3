"""Repairs: how found code is rewritten, as text edits. Rules attach what these modules make to their findings."""
