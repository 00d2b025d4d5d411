"""The estimators that QUAM is compared with."""
