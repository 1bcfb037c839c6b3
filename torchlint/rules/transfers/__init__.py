"""Rules about transfers: copies between host and device."""
