"""The data sets, their scores, and ground truth by Hamiltonian Monte Carlo."""
