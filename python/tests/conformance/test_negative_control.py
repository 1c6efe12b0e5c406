"""Without an adapter the list of scenarios fails: it would notice one that does nothing."""

from __future__ import annotations

import pytest

from conformance import test_conformance as scenarios
from conformance.drivers import installed
from conformance.world import Driver
from support.platform import Platform

GUARDING = [
    scenarios.test_a_blocked_call_does_not_happen_and_the_model_is_told_why,
    scenarios.test_of_two_calls_at_once_the_blocked_one_alone_does_not_happen,
    scenarios.test_a_decision_to_terminate_ends_the_run_before_the_next_model_call,
    scenarios.test_a_tool_is_called_with_the_arguments_that_a_rule_has_changed,
    scenarios.test_a_call_that_waits_for_a_person_is_told_to_the_model_and_the_run_goes_on,
    scenarios.test_failing_closed_nothing_happens_while_the_platform_is_away,
]


@pytest.mark.parametrize("scenario", GUARDING, ids=lambda scenario: scenario.__name__)
@pytest.mark.parametrize("driver", installed(), ids=lambda driver: driver.name)
def test_an_agent_without_an_adapter_fails(platform: Platform, driver: Driver, scenario: object) -> None:
    bare = scenarios.Play(platform, driver, driver.modes[0], integrations=[])
    with pytest.raises(AssertionError):
        scenario(bare)  # type: ignore[operator]
