"""``uqbench play``: an exported agent plays, and its uncertainty is drawn beside it."""

from __future__ import annotations

from uqbench.cli.options import File, FolderThere, load_host, takes
from uqbench.cli.terminal import say


@takes(names={"state_map": "--map"})
def command(
    run: FolderThere,
    *,
    episodes: int = 1,
    most_steps: int = 1000,
    video: File | None = None,
    state_map: File | None = None,
) -> None:
    """Let the agent of a RUN that was made with --keep-agents play.

    RUN is the run's folder, as uqbench status lists it below the results folder.

    \b
    Example:
      uqbench run --suite windy-cliff --budget smoke --keep-agents
      uqbench play results/windy-cliff/smoke/cliff/ua-dqn-neutral/0-* --video play.gif

    Args:
        episodes: Episodes to play.
        most_steps: Steps of an episode at most.
        video: Write a film: .gif, or .png for the first picture.
        state_map: Write a .png of the uncertainty about every state, where the environment is
            small.
    """
    from uqbench.api.agents import restore
    from uqbench.api.film import frames, save, state_map_picture
    from uqbench.api.playing import map_beliefs, play
    from uqbench.errors import UqbenchError
    from uqbench.results.store import Store

    folder = run.resolve()
    if len(folder.parts) < 6 or not (folder / "run.json").is_file():
        raise UqbenchError(f"{run} is no run's folder: expected SUITE/BUDGET/TASK/METHOD/SEED-ID.")
    store = Store(folder.parents[4])
    exported = restore(store, folder.relative_to(store.root).as_posix(), load_host())
    title = f"{exported.run.suite} {exported.run.name}"
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
    if video is not None:
        save(frames(moments, title), video)
        say(str(video))
    if state_map is not None:
        save([state_map_picture(*map_beliefs(exported), title)], state_map)
        say(str(state_map))
