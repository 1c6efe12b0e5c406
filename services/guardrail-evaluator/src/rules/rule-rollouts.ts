import { DAY_MS, type GuardrailRule, type Promotion, type Suspension } from '@agentlens/contracts';
import { decidesCalls, force, guardOf, unmetGuard, type ValidatedRule, validatePatch } from '@agentlens/guardrails';
import type { Clock } from '@agentlens/platform';
import { originOf, type RuleRef, type RuleWriter } from './rule-writer.ts';

/** Longer suspensions are forgotten: turn the rule off instead. */
const MAX_SUSPENSION_DAYS = 30;

/** Moves rules between shadow, canary and enforced, back to shadow, and suspends them. Each is a version of the rule. */
export class RuleRollouts {
  readonly #writer: Pick<RuleWriter, 'change' | 'replace'>;
  readonly #clock: Clock;

  constructor(writer: Pick<RuleWriter, 'change' | 'replace'>, clock: Clock) {
    this.#writer = writer;
    this.#clock = clock;
  }

  /** Rejected with 409 if the rule would act on more calls and has not shown what its guard requires. */
  promote(ref: RuleRef, { to, percent, by, reason, force: forced }: Promotion): Promise<ValidatedRule<GuardrailRule>> {
    return this.#writer.change(ref, async (rules, existing) => {
      const rollout = percent === undefined ? undefined : { percent, by: by ?? existing.rollout?.by };
      const draft = validatePatch(existing, { enabled: true, dryRun: false, mode: to, rollout });
      const raises = draft.ok && force(draft.value) > force(existing);
      if (raises && !forced) {
        const guard = guardOf(existing, decidesCalls(existing.actionType));
        const unmet = unmetGuard(guard, await rules.figures(existing), this.#clock.now());
        if (unmet.length > 0) return notShown(unmet);
      }
      const why = forced ? `Forced: ${reason}` : (reason ?? ref.reason);
      return this.#writer.replace(rules, existing, draft, { ...originOf(ref, 'promotion'), reason: why });
    });
  }

  /** Suspends any rule, also of a ruleset; null ends the suspension. */
  suspend(ref: RuleRef, suspended: Suspension | null): Promise<ValidatedRule<GuardrailRule>> {
    const problem = suspended === null ? null : this.#untilProblem(suspended);
    if (problem !== null) return Promise.resolve(refused(problem));
    return this.#writer.change(
      ref,
      (rules, existing) =>
        this.#writer.replace(
          rules,
          existing,
          // Not validated again, so that a rule that this version would reject can be suspended.
          { ok: true, value: existing },
          { ...originOf(ref, 'suspension'), reason: suspended?.reason ?? ref.reason },
          { suspended: suspended ?? undefined },
        ),
      true,
    );
  }

  /**
   * Returns a rule to shadow, if it still has this version: of several replicas that find the same, one succeeds.
   * Nothing raises it again by itself.
   */
  takeBack(ref: RuleRef & { readonly ifVersion: number; readonly reason: string }) {
    return this.#writer.change(
      ref,
      (rules, existing) =>
        this.#writer.replace(
          rules,
          existing,
          { ok: true, value: { ...existing, mode: 'shadow', rollout: undefined } },
          originOf(ref, 'rollback'),
        ),
      true,
    );
  }

  #untilProblem({ until }: Suspension): string | null {
    const leftMs = Date.parse(until) - this.#clock.now();
    if (leftMs <= 0) return 'must be in the future';
    if (leftMs <= MAX_SUSPENSION_DAYS * DAY_MS) return null;
    return `must be within ${MAX_SUSPENSION_DAYS} days; to stop a rule for longer, set its mode to off`;
  }
}

function notShown(details: ReturnType<typeof unmetGuard>): ValidatedRule<never> {
  return {
    ok: false,
    problem: {
      error: 'The rule has not yet shown what its guard requires',
      status: 409,
      details,
      hint: 'GET /api/guardrails/:id/rollout shows its figures. "force": true with a reason promotes it anyway.',
    },
  };
}

function refused(message: string): ValidatedRule<never> {
  return { ok: false, problem: { error: 'Validation failed', status: 400, details: [{ path: 'until', message }] } };
}
