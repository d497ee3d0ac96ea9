"""Ensembles as members that vote."""
