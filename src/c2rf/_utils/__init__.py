"""What every subpackage needs: array types, checks of user input, wording, compiled loops."""
