"""The checks of `sandbox.testing.BackendContract`, by what they are about."""

import pytest

# Before the modules are imported: their assertions then explain themselves, as in a test module.
pytest.register_assert_rewrite(
    *(f"{__name__}.{name}" for name in ("channel", "files", "isolation", "limits", "tools"))
)
