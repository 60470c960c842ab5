"""Root mean square normalisation, with the residual addition that precedes it in every model."""

from reference_kernels.rms_norm.op import rms_norm

__all__ = ["rms_norm"]
