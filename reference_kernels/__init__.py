"""Hand-tuned accelerator kernels for JAX, and the baselines that an agent must beat.

    from reference_kernels.rms_norm import rms_norm
    y = rms_norm(x, weight)

`reference_kernels.catalog` lists the ops; each op is one folder.
"""

__version__ = "0.1.0"
