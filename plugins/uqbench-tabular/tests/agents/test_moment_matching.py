"""Moment matching: the epistemic equation term by term."""

import torch
from uqbench_tabular.agents.moment_matching import MomentMatching

GAMMA = 0.9


def test_moment_matching_solves_the_epistemic_equation_term_by_term(taught):
    """Equation "epistemic" with its five terms apart, each from its definition."""
    agent = taught(MomentMatching)
    values = agent.action_values()
    v = values.amax(-1)
    c = agent.posterior.counts
    n = c.sum(-1)
    p, ng = c / n[..., None], agent.posterior.rewards
    m = ng.mu0

    def cov(x, y):
        """``Cov_T[Σ p x, Σ p y]``."""
        return ((p * x * y).sum(-1) - (p * x).sum(-1) * (p * y).sum(-1)) / (n + 1)

    w = v[:, None, None, :].expand_as(p)
    var_mean_reward = ng.beta / (ng.lam * (ng.alpha - 1))
    fixed = cov(m, m) + (p * var_mean_reward).sum(-1) + 2 * GAMMA * cov(m, w) + GAMMA**2 * cov(w, w)
    best = values.argmax(-1, keepdim=True)
    epistemic = torch.zeros_like(fixed)
    for _ in range(400):
        of_states = epistemic.gather(-1, best).squeeze(-1)
        epistemic = fixed + GAMMA**2 * (p * of_states[:, None, None, :]).sum(-1)
    assert torch.allclose(agent.variance(values), epistemic)
    of_states = epistemic.gather(-1, best).squeeze(-1)
    draft, code = (taught(MomentMatching, noise=noise) for noise in ("draft", "code"))
    expected = (p * of_states[:, None, None, :]).sum(-1)
    assert torch.allclose(draft.variance(values), expected)
    assert torch.allclose(code.variance(values), epistemic / GAMMA**2)
