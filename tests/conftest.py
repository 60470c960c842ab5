"""Shapes in the annotations of `reference_kernels` are checked in every test."""

from jaxtyping import install_import_hook

# Before anything imports the library, and for the whole session.
install_import_hook("reference_kernels", "beartype.beartype")
