"""Populations on a Dask cluster: work is done where the rows are, and only counts travel.

Dask is optional: nothing here imports it before a Dask collection is at hand.
"""

from c2rf.distributed.cluster import connected
from c2rf.distributed.partitions import Partitions, as_population, is_dask

__all__ = ["Partitions", "as_population", "connected", "is_dask"]
