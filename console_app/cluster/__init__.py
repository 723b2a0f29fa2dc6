"""A batch on many processes: who runs which item, what travels, and how what may change something isn't done twice."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from console_app.cluster.dask_cluster import cluster_engine as cluster_engine
else:
    from console_app.door import door

    __getattr__ = door(__name__, __file__)
