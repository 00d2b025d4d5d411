"""One-dimensional regressions with known uncertainty: Figure 1 and Appendix C of Clements et al."""
