"""What is known of the unlabeled rows, in three forms.

- As stated: :class:`~c2rf.totals.stated.Totals` of mappings and margins, and each of them as a
  :class:`~c2rf.totals.stated.StatedTotal` (``stated``). The rows they are about have groups and
  weights (``groups``).
- As checked integer bounds: :class:`~c2rf.totals.bounds.Bounds` (``bounds``).
- As linear constraints: :class:`~c2rf.totals.bounds.LinearConstraints`, for linear and integer
  programs (``bounds``).

``make_bounds`` is the way from the first to the second; ``reconcile`` is what it does with totals
that contradict each other.
"""
