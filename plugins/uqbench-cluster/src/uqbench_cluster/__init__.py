"""Orders to the nodes of a cluster, and the executors ``slurm`` and ``ray`` that submit them."""
