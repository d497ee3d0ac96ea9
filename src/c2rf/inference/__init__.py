"""How sure the labels are: expected accuracy, and what depends on which total."""
