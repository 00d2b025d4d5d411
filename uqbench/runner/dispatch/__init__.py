"""Orders to nodes, and their answers through the store.

A driver (``drive``) executes batches in processes of its own, or writes orders (``orders``) and
gives them to an executor; a node executes one (``node``) and writes its log (``event_log``); any
driver follows it (``follow``).
"""
