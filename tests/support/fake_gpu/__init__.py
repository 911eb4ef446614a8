"""A stand-in GPU: a Unified Runtime adapter, and what tests need to use it (see README.md)."""
