"""Rules about synchronisation: places where the host waits for the device."""
