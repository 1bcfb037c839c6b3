"""A simulated GPU: ordinary CPU tensors whose memory carries the label of a device."""
