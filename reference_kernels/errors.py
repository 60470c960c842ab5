"""What the library raises."""


class KernelError(Exception):
    """Anything that `reference_kernels` raises of its own."""


class UnknownOpError(KernelError):
    """No op of that name."""


class UnsupportedError(KernelError, NotImplementedError):
    """This implementation declines these shapes, dtypes or this platform; another may take them."""


class TuningDataError(KernelError):
    """A tuning file cannot be read."""
