import type * as platform from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import type * as sdk from './contract.ts';

/** Deeply readonly: mutability is not part of the wire format. */
type Frozen<T> = T extends readonly (infer E)[]
  ? readonly Frozen<E>[]
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T;
type Same<A, B> = [Frozen<A>] extends [Frozen<B>] ? ([Frozen<B>] extends [Frozen<A>] ? true : false) : false;

describe('the published types', () => {
  it("match the platform's", () => {
    // The compiler is the test: a type that drifts is not assignable to `true`.
    const same: {
      phase: Same<sdk.DecisionPhase, platform.AgentPhase>;
      actor: Same<sdk.Actor, platform.Actor>;
      subject: Same<sdk.Subject, platform.Subject>;
      cause: Same<sdk.DecisionCause, platform.DecisionCause>;
      bypass: Same<sdk.RuleBypass, platform.RuleBypass>;
      limits: Same<sdk.BreakerLimits, platform.BreakerLimits>;
      reason: Same<sdk.BreakerReason, platform.BreakerReason>;
      state: Same<sdk.BreakerState, platform.BreakerState>;
      rule: Same<sdk.BundledRule, platform.BundledRule>;
      bundle: Same<sdk.RuleBundle, platform.RuleBundle>;
    } = {
      ...{ phase: true, actor: true, subject: true, cause: true, bypass: true },
      ...{ limits: true, reason: true, state: true, rule: true, bundle: true },
    };
    expect(Object.values(same)).not.toContain(false);
  });
});
