"""What is sent to a node, and what comes back through the store.

A driver writes orders (``orders``) and gives them to an executor; a node executes one (``node``)
and writes its progress (``progress``); any driver follows them (``follow``).
"""
