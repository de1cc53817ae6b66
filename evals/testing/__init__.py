"""What tests of a memory policy use: assertions over scored cases, and what is behind the pytest plugin. Nothing here imports pytest."""

from evals.testing.asserting import assert_finds, assert_never

__all__ = ["assert_finds", "assert_never"]
