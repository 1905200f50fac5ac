"""Which queries still want this row: grouped filters, residual predicates, user-defined functions."""
