"""What executes together, and on what.

Read ``batches`` (runs as lanes of a batch, batches as a group) first, then ``gpus`` (shared out
among processes) and ``origins`` (the plugins that a batch comes from).
"""
