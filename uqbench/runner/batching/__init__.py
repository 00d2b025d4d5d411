"""What executes together: ``batches`` (runs as lanes of a batch, batches as a group), the
plugins that they come from, and the GPUs that processes share."""
