"""Facts about the windy cliff: closed forms, the tables, and the environment that steps by them."""

import tomllib
from importlib.resources import files

import pytest
import torch
from torch.utils._pytree import tree_map
from uqbench_uadqn.cliff import truth as facts
from uqbench_uadqn.cliff.config import CliffConfig
from uqbench_uadqn.cliff.environment import WindyCliff
from uqbench_uadqn.cliff.grid import ACTIONS, CELLS, DOWN, LEFT, RIGHT, UP, grid
from uqbench_uadqn.cliff.ground_truth import optimal_q, reachable, return_atoms
from uqbench_uadqn.cliff.pictures import state_map
from uqbench_uadqn.cliff.policy_truth import ALPHA, exact_truth, learned
from uqbench_uadqn.cliff.script import CliffScript, CliffScriptConfig

import uqbench
from uqbench.environment import TimeLimit
from uqbench.errors import UqbenchError
from uqbench.risk import CVaR
from uqbench.testing.same_bits import same
from uqbench.testing.worlds import RotatingPixels

CPU = torch.device("cpu")
PAPER = CliffConfig()
LIMIT = TimeLimit(15, "terminal")
UNIFORM = torch.full((CELLS, ACTIONS), 1 / ACTIONS, dtype=torch.float64)


def walk(env: WindyCliff, actions):
    """Outcomes of the same actions in every lane, from a fresh start."""
    env.reset()
    return [env.step(torch.full((len(env._cell),), action)) for action in actions]


# -- what is exactly known ------------------------------------------------------------------------


def test_the_paths_have_the_published_return_distributions():
    risky, safe = (facts.return_distribution(PAPER, p) for p in (facts.RISKY_PATH, facts.SAFE_PATH))
    still = 0.95
    law = {-1: 0.05, -2: still * 0.05, -3: still**2 * 0.05, 6: still**3}
    assert dict(risky.probabilities) == pytest.approx(law)
    assert risky.mean == pytest.approx(4.863875, abs=1e-12)  # the paper's "4.8"
    assert risky.variance == pytest.approx(7.854345, abs=1e-6)
    assert risky.fall == pytest.approx(0.142625, abs=1e-12)
    assert dict(safe.probabilities) == {4.0: 1.0}
    with pytest.raises(ValueError, match="the goal; they end in 1"):
        facts.return_distribution(PAPER, [RIGHT])
    with pytest.raises(ValueError, match="wind is a probability, got"):
        CliffConfig(wind=1.1)
    assert (safe.mean, safe.variance, safe.fall) == (4.0, 0.0, 0.0)


def test_the_best_risk_neutral_policy_takes_the_ledge_while_the_wind_is_weak():
    assert facts.optimal_return(PAPER) == pytest.approx(4.863875, abs=1e-12)
    assert facts.optimal_values(PAPER).argmax(-1)[0, :4].tolist() == [RIGHT] * 4
    strong = CliffConfig(wind=0.2)
    assert facts.optimal_return(strong) == pytest.approx(4.0, abs=1e-12)
    assert facts.optimal_values(strong)[0, 0].argmax() == UP
    assert (
        facts.optimal_values(PAPER)[-1, :3] == -1
    ).all()  # one step left, and not beside the goal


def test_fall_rates_of_both_paths():
    risky, safe = torch.zeros(CELLS, ACTIONS), torch.zeros(CELLS, ACTIONS)
    risky[:, RIGHT] = safe[5:9, RIGHT] = safe[9, DOWN] = safe[0, UP] = 1
    length = 1 + 0.95 + 0.95**2 + 0.95**3
    assert facts.fall_rate(PAPER, risky.double()) == pytest.approx(0.142625 / length)
    assert facts.fall_rate(PAPER, safe.double()) == 0


def test_the_exact_values_are_the_means_of_the_return_distributions():
    for discount in (1.0, 0.9):
        truth = optimal_q(PAPER, discount)
        assert truth.obs.shape == (len(truth.values), CELLS + 1)
        assert torch.allclose(truth.return_probs.sum(-1), torch.ones(()).double())
        assert torch.allclose((truth.return_atoms * truth.return_probs).sum(-1), truth.values)
    start = optimal_q(PAPER, 1.0)
    assert start.obs[0].tolist() == [1] + [0] * CELLS
    ledge = torch.stack([start.return_atoms[0, RIGHT], start.return_probs[0, RIGHT]], -1).tolist()
    expected = dict(facts.return_distribution(PAPER, facts.RISKY_PATH).probabilities)
    assert {atom: p for atom, p in ledge if p} == pytest.approx(expected)
    assert start.return_probs[0, UP].max() == 1  # the way around is certain
    # the discounted value of two steps to the goal, from the last cell of the ledge but one
    t, q = 2, facts.optimal_values(PAPER, discount=0.9)
    assert q[t, 2, RIGHT] == pytest.approx(-1 + 0.95 * 0.9 * 9)


def test_only_states_that_an_episode_can_be_in_are_scored():
    states = reachable(PAPER)
    assert states[0].nonzero().flatten().tolist() == [0]
    assert sorted(states[1].nonzero().flatten().tolist()) == [0, 1, 5]
    assert not states[:, 4].any()  # the goal ends the episode
    assert len(optimal_q(PAPER, 1.0).values) == states.sum() == 114


def test_the_script_is_of_the_cliff_alone():
    with pytest.raises(UqbenchError, match="of the windy cliff; got"):
        CliffScript(RotatingPixels.info(), [0], CliffScriptConfig(), CPU)


# -- what the learned policy is worth -------------------------------------------------------------

WALKER = """
import torch
from uqbench.lanes import Uniform
from uqbench_uadqn.cliff.script import CliffScript
from uqbench_uadqn.cliff.config import CliffScriptConfig

class Walker(CliffScript):
    '''Knows the way around, and takes a random action as often as QR-DQN does in the end.'''

    def __init__(self, info, seeds, config: CliffScriptConfig, device):
        super().__init__(info, seeds, config, device)
        self._t, self._drawn = 0, Uniform(seeds, "walker", (2,), device)

    def act(self, obs, valid=None):
        often, which = self._drawn.at(self._t).unbind(-1)
        self._t += 1
        return torch.where(often < 0.05, (4 * which).long(), self.policy(obs[:, None])[:, 0])
"""


def policy(*cells: int) -> torch.Tensor:
    """The same at every step, from an action for each cell."""
    return torch.tensor(cells).expand(1, facts.HORIZON, CELLS)


AROUND = policy(UP, UP, UP, UP, UP, RIGHT, RIGHT, RIGHT, RIGHT, DOWN)
LEDGE_FIRST = policy(RIGHT, UP, UP, UP, UP, RIGHT, RIGHT, RIGHT, RIGHT, DOWN)
ALONG = policy(*[RIGHT] * CELLS)


def test_a_learned_policy_is_judged_by_the_cvar_of_its_return():
    found = learned(PAPER, 1.0, torch.cat([AROUND, ALONG, policy(*[LEFT] * CELLS), LEDGE_FIRST]))
    ledge = (0.05 * -1 + 0.0475 * -2 + 0.045125 * -3 + (0.25 - 0.142625) * 6) / 0.25
    once = (0.05 * -1 + 0.2 * 4) / 0.25  # one foot on the ledge
    assert found["learned_cvar25"].tolist() == pytest.approx([4, ledge, -15, once])
    assert found["learned_return"].tolist() == pytest.approx([4, 4.863875, -15, 0.95 * 4 - 0.05])
    assert found["learned_arrival"].tolist() == pytest.approx([1, 0.857375, 0, 0.95])
    share = (once - ledge) / (4 - ledge)
    assert found["risk_control"].tolist() == pytest.approx([1, 0, 0, share])


def test_no_policy_has_a_higher_cvar_than_the_way_around():
    """Max over b of b − (b − max E[min(W, b)]) / α, by dynamic programming for each b."""
    tables, atoms = grid(PAPER), return_atoms(1.0)
    best = -torch.inf
    for b in atoms.unique():
        lost, arrived = atoms.minimum(b).unflatten(0, (2, facts.HORIZON))
        value = torch.zeros(CELLS).double()
        for t in reversed(range(facts.HORIZON)):
            after = value[tables.leads_to] if t < facts.HORIZON - 1 else lost[t]
            after = torch.where(tables.leads_to == 4, arrived[t], after)
            value = (tables.fall * lost[t] + (1 - tables.fall) * after).amax(-1)
        best = max(best, float(b - (b - value[0]) / ALPHA))
    assert best == pytest.approx(4.0, abs=1e-12)


@pytest.mark.parametrize(("wind", "why"), [(0.01, "the ledge is best"), (0.1, "so is the mean's")])
def test_where_going_around_gains_nothing_there_is_no_risk_to_control(wind, why):
    found = learned(CliffConfig(wind=wind), 1.0, AROUND)
    assert found["risk_control"].isnan().all(), why
    assert found["learned_cvar25"].item() == 4


def test_who_knows_the_way_has_the_full_score_although_exploring(tmp_path):
    (tmp_path / "mine.py").write_text(WALKER)
    rows = [f"{tmp_path}/mine.py:Walker", "safe-path", "constant-action", "uniform-random"]
    how = {"out": tmp_path / "results", "workers": 1, "progress": False}
    found = uqbench.run("windy-cliff", "smoke", methods=rows, **how)
    means = found.table("leaderboard.csv").set_index("method")
    known = {"walker": 1, "safe-path": 1, "constant-action": 0, "uniform-random": 0}
    assert means["mean"].to_dict() == pytest.approx(known)
    while_training = means["training_cvar25_mean"]
    assert while_training["walker"] < 0.5 < while_training["safe-path"]


# -- the tables -----------------------------------------------------------------------------------


def test_walls_stop_and_the_cliff_is_below_the_ledge():
    tables = grid(PAPER)
    assert tables.leads_to[0].tolist() == [5, 1, 0, 0]  # up, right, down, left
    assert tables.leads_to[9].tolist() == [9, 9, 4, 8]
    assert tables.fall[:4, DOWN].tolist() == [0, 1, 1, 1]
    assert tables.fall[3, RIGHT] == 0  # the step to the goal ends behind the ledge
    assert tables.fall[6, DOWN] == tables.fall[2, LEFT] == tables.fall[0, RIGHT] == 0.05
    assert (tables.fall[5:, [UP, RIGHT, LEFT]] == 0).all()


# -- the environment ------------------------------------------------------------------------------


def test_the_safe_path_pays_four_and_counts_on_its_last_step():
    outcomes = walk(WindyCliff(PAPER, [1, 2], LIMIT), facts.SAFE_PATH)
    assert [o.reward.tolist() for o in outcomes] == [[-1, -1]] * 5 + [[9, 9]]
    assert [o.terminated.any().item() for o in outcomes] == [False] * 5 + [True]
    assert [o.events["safe_path"].tolist() for o in outcomes] == [[0, 0]] * 5 + [[1, 1]]
    assert all((o.events["risky_path"] == 0).all() for o in outcomes)
    assert all((o.events["falls"] == 0).all() for o in outcomes)
    last = outcomes[-1]
    assert last.next_obs[0].tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 6]
    assert last.obs[0].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]


def test_an_episode_by_the_ledge_is_no_safe_one_and_the_next_episode_may_be():
    env = WindyCliff(CliffConfig(wind=0.0), [1], LIMIT)
    along = walk(env, facts.RISKY_PATH)
    assert (along[-1].reward.tolist(), along[-1].events["safe_path"].tolist()) == ([9], [0])
    assert [o.events["risky_path"].item() for o in along] == [0, 0, 0, 1]
    back = [RIGHT, UP, LEFT, *facts.SAFE_PATH[1:]]  # one foot on the ledge
    around = [env.step(torch.tensor([action])) for action in (*back, *facts.SAFE_PATH)]
    assert [o.events["safe_path"].item() for o in around] == [0] * (len(back) + 5) + [1]


@pytest.mark.parametrize(("kind", "terminal"), [("terminal", True), ("truncation", False)])
def test_the_time_limit_is_of_its_kind(kind, terminal):
    outcomes = walk(WindyCliff(PAPER, [1], TimeLimit(15, kind)), [LEFT] * 16)
    assert outcomes[14].terminated.tolist() == [terminal]
    assert outcomes[14].truncated.tolist() == [not terminal]
    assert outcomes[14].next_obs[0, -1] == 15
    assert not any((o.terminated | o.truncated).any() for o in (*outcomes[:14], outcomes[15]))


def test_random_actions_fall_as_often_as_the_tables_say_and_end_their_episodes_by_it():
    lanes, steps = 400, 600
    env = WindyCliff(PAPER, range(lanes), LIMIT)
    env.reset()
    generator, falls = torch.Generator().manual_seed(0), torch.zeros(lanes)
    for _ in range(steps):
        outcome = env.step(torch.randint(ACTIONS, (lanes,), generator=generator))
        fell = outcome.events["falls"] == 1
        assert (outcome.terminated[fell] & (outcome.reward[fell] == -1)).all()
        falls += fell
    error = falls.std().item() / lanes**0.5 / steps
    # 0.3 of an error for the episode that is under way at the end; wrong once in 1.7 million
    assert abs(falls.mean().item() / steps - facts.fall_rate(PAPER, UNIFORM)) < 5.3 * error


def test_a_lane_is_the_same_alone_and_among_others_and_goes_on_as_it_was():
    actions = torch.randint(ACTIONS, (700,), generator=torch.Generator().manual_seed(0))
    alone, among = (WindyCliff(PAPER, seeds, LIMIT) for seeds in ([5], [3, 5, 8]))
    alone.reset()
    among.reset()
    fresh = among
    for t, action in enumerate(actions):
        if t == 300:
            fresh = WindyCliff(PAPER, [3, 5, 8], LIMIT)
            fresh.load_state_dict(among.state_dict())
        one, three = alone.step(action[None]), among.step(action.repeat(3))
        again = three if fresh is among else fresh.step(action.repeat(3))
        for name in ("reward", "terminated", "truncated", "next_obs", "obs", "events"):
            assert same(getattr(again, name), getattr(three, name))
            lane = tree_map(lambda tensor: tensor[1:2], getattr(three, name))
            assert same(getattr(one, name), lane)


def test_the_suite_states_what_the_tables_give():
    path = files("uqbench_uadqn") / "suites" / "windy-cliff.toml"
    suite = tomllib.loads(path.read_text(encoding="utf-8"))
    config = CliffConfig(**suite["tasks"][0]["config"])
    tables = suite["normalization"].items()
    constants = {name: table["constants"]["cliff"] for name, table in tables}
    assert constants["falls_per_step"]["zero"] == pytest.approx(facts.fall_rate(config, UNIFORM))
    assert constants["late_return"]["one"] == pytest.approx(facts.optimal_return(config))
    assert suite["tasks"][0]["time_limit"] == facts.HORIZON
    for end, path in (("zero", facts.RISKY_PATH), ("one", facts.SAFE_PATH)):
        law = facts.return_distribution(config, path).probabilities
        cvar = CVaR(0.25)(torch.tensor([*law]).double(), torch.tensor([*law.values()]).double())
        assert constants["training_cvar25"][end] == pytest.approx(cvar.item())
    own = ("epsilon_final", "epsilon_decay_", "epistemic_weight", "aleatoric")
    learning = [one for one in suite["methods"] if one.get("agent") in ("ua-dqn", "qr-dqn")]
    shared = [{k: v for k, v in one["config"].items() if not k.startswith(own)} for one in learning]
    assert all(config == shared[0] for config in shared)  # "differ only in action selection"


def test_every_lane_has_the_truth_of_its_own_policy():
    """Lane 0 acts optimally, lane 1 goes around the ledge: 4 for certain, once it is up there."""
    best, exact = optimal_q(PAPER, 1.0), exact_truth(PAPER, 1.0, [])
    assert torch.equal(exact.obs, best.obs)
    optimal, cell = best.values.argmax(-1), exact.obs[:, :-1].argmax(-1)
    around = torch.where(cell == 9, DOWN, torch.where(cell >= 5, RIGHT, UP))
    truth = exact.evaluate(torch.stack([optimal, around]))
    torch.testing.assert_close(truth.q[0], best.values)
    torch.testing.assert_close(truth.probs[0], best.return_probs)
    start = (exact.obs[:, 0] == 1) & (exact.obs[:, -1] == 0)
    assert truth.q[1, start, UP].item() == pytest.approx(4.0)
    assert truth.probs[1, start, UP].max().item() == 1.0
    along = facts.return_distribution(PAPER, (RIGHT, UP, RIGHT, RIGHT, RIGHT, DOWN))
    assert truth.q[1, start, RIGHT].item() == pytest.approx(along.mean)
    values, probs = truth.returns[1, start, RIGHT], truth.probs[1, start, RIGHT]
    assert (probs * (values - along.mean).square()).sum().item() == pytest.approx(along.variance)


# -- the map of its cells --------------------------------------------------------------------------


def test_the_map_has_each_cell_at_the_first_step_at_which_an_episode_can_stand_in_it():
    states, known = state_map(PAPER), exact_truth(PAPER, 0.99, [0]).obs
    seen = {tuple(row) for row in known.tolist()}
    assert all(tuple(row) in seen for row in states.obs.tolist())
    cells = states.obs[:, :CELLS].argmax(1)
    assert sorted(cells) == sorted(set(known[:, :CELLS].argmax(1).tolist()))
    first = {int(cell): float(known[known[:, cell] == 1, -1].min()) for cell in cells}
    assert states.obs[:, -1].tolist() == [first[int(cell)] for cell in cells]
