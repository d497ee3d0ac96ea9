"""File formats, one module each: a function ``read``, and where it can be had ``parts``."""
