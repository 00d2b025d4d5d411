"""An order means the same runs where it is executed, or is refused."""

import json

import pytest
from toy_runs import plan_of
from uqbench_cluster.orders import make_order, plan_again, read_order, stored_orders, write_order

from uqbench.errors import UqbenchError
from uqbench.executor import Order, Resources
from uqbench.registry import Host
from uqbench.runner import BatchGroup, make_batch_groups
from uqbench.runner.drive import Where
from uqbench.runner.executors.limits import Limits
from uqbench.suites import Plan


def planned(host: Host) -> tuple[Plan, list[BatchGroup]]:
    plan = plan_of(host, steps=300, seeds=[0, 4, 7], settings={"slow": {"forward": 0.55}})
    return plan, make_batch_groups(plan, set(plan.runs), "cpu", 2)


def order_of(plan: Plan, group: BatchGroup, host: Host) -> Order:
    limits = Limits(run_minutes=3.0)
    return make_order(plan, group, host, Where(resources=Resources(cpus=2.0), limits=limits))


def test_what_is_sent_means_the_same_batches_to_who_plans_again(host, tmp_path):
    plan, groups = planned(host)
    for group in groups:
        order = order_of(plan, group, host)
        write_order(order, tmp_path)
        again = plan_again(read_order(order.path(tmp_path)), host)
        assert [batch.runs for batch in again] == [batch.runs for batch in group]
        assert [batch.cell.config for batch in again] == [batch.cell.config for batch in group]
        assert [batch.budget for batch in again] == [batch.budget for batch in group]
        assert order_of(plan, group, host).name == order.name
    assert len(list(stored_orders(tmp_path))) == len(groups)


def test_other_contents_of_a_package_and_runs_of_another_identity_are_refused(host):
    plan, (group, *_) = planned(host)
    order = order_of(plan, group, host)
    assert set(order.content) == {"uqbench", "toy_uqbench"}
    for content, reason in (
        ({"toy_uqbench": "0" * 64}, "another content of toy_uqbench than the one"),
        ({"toy_uqbench_2": "0" * 64}, r"another content of toy_uqbench_2 \(not installed here\)"),
    ):
        changed = order.model_copy(update={"content": order.content | content})
        with pytest.raises(UqbenchError, match=reason):
            plan_again(changed, host)
    changed = order.model_copy(update={"settings": {"slow": {"forward": 0.56}}})
    with pytest.raises(UqbenchError, match="short/slow/0 has another identity here"):
        plan_again(changed, host)


@pytest.mark.parametrize(
    ("key", "value"),
    [("name", "../../etc/passwd"), ("batches", 3), ("device", "tpu"), ("extra", 1)],
)
def test_a_damaged_order_is_refused(key, value, host, tmp_path):
    plan, (group, *_) = planned(host)
    order = order_of(plan, group, host)
    write_order(order, tmp_path)
    path = order.path(tmp_path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: value}))
    with pytest.raises(UqbenchError, match="is no order"):
        read_order(path)
    assert list(stored_orders(tmp_path)) == []
