"""A gradient step in one compiled call: numerics ``native``, for planes of bits, on a CPU.

The agents' classes are the definition; what is here computes the same and is tested against them.
Read in this order: ``vectors``, explicit vectors of 16 floats, whose operations no compiler
reorders; ``products`` and ``planes``, the layers; ``layers``, the last of them and Adam; ``steps``,
a method's whole step, of which only the loss is its own; ``agents``, which lets an agent use them.

Every sum has one order, whatever the width of a processor's vectors, so that the bits of a run are
those of any processor with fused multiply-add. Needs Numba.
"""
