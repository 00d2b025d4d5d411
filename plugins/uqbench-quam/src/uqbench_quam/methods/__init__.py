"""QUAM: the adversarial model search, mixture importance sampling and the estimator."""
