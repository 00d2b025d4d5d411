"""Conjugate posteriors, of distributions and of MDPs."""
