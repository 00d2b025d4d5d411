"""What executes together: batches of lanes, their number, and how fast they are."""
