"""Rules about transfers: what travels between host and device."""
