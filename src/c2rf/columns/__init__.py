"""What a column of a table holds, and how it becomes numbers."""
