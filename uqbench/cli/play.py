"""``uqbench play``: an exported agent plays, and says how uncertain it is."""

from uqbench.cli.options import File, FolderThere, load_host, takes
from uqbench.cli.terminal import say


@takes(names={"state_map": "--map"})
def command(
    run: FolderThere, *, episodes: int = 1, most_steps: int = 1000, state_map: File | None = None
) -> None:
    """Let the agent of a RUN that was made with --keep-agents play.

    RUN is the run's folder, as uqbench status lists it below the results folder.

    \b
    Example:
      uqbench run --suite windy-cliff --budget smoke --keep-agents
      uqbench play results/windy-cliff/smoke/cliff/ua-dqn-neutral/0-* --map map.svg

    Args:
        episodes: Episodes to play.
        most_steps: Steps of an episode at most.
        state_map: Draw the uncertainty about every state, where the environment is small, beside
            the truth where that is exact: .svg, .pdf, .png or .csv.
    """
    from uqbench.api.agents import restore
    from uqbench.api.playing import map_beliefs, map_truth, play
    from uqbench.api.report import require
    from uqbench.contract.errors import UqbenchError
    from uqbench.results.files import write_output
    from uqbench.results.store import Store

    folder = run.resolve()
    if len(folder.parts) < 6 or not (folder / "run.json").is_file():
        raise UqbenchError(f"{run} is no run's folder: expected SUITE/BUDGET/TASK/METHOD/SEED-ID.")
    store = Store(folder.parents[4])
    exported = restore(store, folder.relative_to(store.root).as_posix(), load_host())
    moments = list(play(exported, episodes, most_steps))
    for moment in moments:
        if moment.ended or moment is moments[-1]:
            end = "ended" if moment.ended else "was cut off"
            total = moment.collected + moment.reward
            say(f"episode {moment.episode}: return {total:g}, {end} after {moment.step + 1} steps")
    for kind in ("epistemic", "aleatoric"):
        values = [one.beliefs[kind][one.action] for one in moments if kind in one.beliefs]
        text = f"{sum(values) / len(values):.4g} on average" if values else "not predicted"
        say(f"{kind} standard deviation of the chosen action: {text}")
    if state_map is not None:
        require("plots", "altair", "vl_convert")
        from uqbench.pages.plots.render import render
        from uqbench.pages.plots.state_map import figure

        states, beliefs = map_beliefs(exported)
        title = f"{exported.run.suite} {exported.run.name}"
        drawn = figure(states, beliefs, title, map_truth(exported, states))
        write_output(state_map, render(drawn, state_map.suffix[1:]))
        say(str(state_map))
