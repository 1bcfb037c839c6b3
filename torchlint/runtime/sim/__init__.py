"""A simulated GPU: CPU tensors whose memory is labelled with a device."""
