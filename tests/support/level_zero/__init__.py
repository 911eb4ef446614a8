"""A stand-in Level Zero driver, under which the real adapters run; see README.md."""
