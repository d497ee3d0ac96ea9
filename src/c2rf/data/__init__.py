"""Tables in and out, what their columns hold, and populations wherever they are."""
