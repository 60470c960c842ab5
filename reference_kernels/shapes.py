"""Array types for annotations.

jaxtyping gives shapes their names in signatures and is checked in tests; it is no dependency of the
library, so without it the names stand for plain arrays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jax import Array

if TYPE_CHECKING:
    from jaxtyping import Float as Float
    from jaxtyping import Int as Int
else:
    try:
        from jaxtyping import Float, Int
    except ImportError:

        class _Unchecked:
            def __class_getitem__(cls, item: Any) -> Any:
                return Array

        Float = Int = _Unchecked

__all__ = ["Array", "Float", "Int"]
