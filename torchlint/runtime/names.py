"""Names of torch functions that several instruments wrap."""

from __future__ import annotations

FACTORIES = (
    "arange bartlett_window blackman_window empty empty_like empty_permuted empty_strided eye full full_like "
    "hamming_window hann_window kaiser_window linspace logspace normal ones ones_like rand rand_like randint "
    "randint_like randn randn_like randperm range scalar_tensor sparse_coo_tensor sparse_csr_tensor tril_indices "
    "triu_indices zeros zeros_like tensor as_tensor asarray frombuffer from_numpy"
).split()
# Their first argument is data, which is copied to the device.
OF_DATA = frozenset("tensor as_tensor asarray sparse_coo_tensor sparse_csr_tensor frombuffer from_numpy".split())
