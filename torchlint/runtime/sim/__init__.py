"""A simulated GPU: CPU tensors whose memory is labeled with a device."""
