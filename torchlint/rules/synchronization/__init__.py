"""Rules about synchronization: places where the host waits for the device."""
