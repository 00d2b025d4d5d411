"""One profile per method: what its uncertainty is good for, capability by capability."""
