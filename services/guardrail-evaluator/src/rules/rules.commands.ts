import { COMMANDS, type Problem } from '@agentlens/contracts';
import type { CooldownStore, Rearming } from '@agentlens/guardrails';
import type { EventBus, Subscription } from '@agentlens/messaging';
import { isDatabaseAway } from '@agentlens/platform';
import { StateUnavailable } from '@agentlens/state';
import { type CommandRefusal } from '../command-refusals.ts';
import type { RuleWriter } from './rule-writer.ts';
import type { RulesetWriter } from './ruleset-writer.ts';

const AWAY: Problem = {
  error: 'Changes cannot be stored at the moment',
  status: 503,
  hint: 'It is not known whether the change was made: read it back, then send the same request again',
};

/** Who does what the commands on rules ask for. */
interface RuleCommandOwners {
  readonly writer: RuleWriter;
  readonly rulesets: RulesetWriter;
  readonly cooldowns: Pick<CooldownStore, 'rearm'>;
}

/** Answers the commands on rules; replicas share them. */
export async function serveRuleCommands(
  bus: EventBus,
  { writer, rulesets, cooldowns }: RuleCommandOwners,
): Promise<Subscription[]> {
  const rearmed = async (rearming: Rearming) => {
    await cooldowns.rearm(rearming);
    return { ok: true, value: { ok: true } } as const;
  };
  return [
    await bus.serve(COMMANDS.rearmRules, ({ at, ...order }) => orAway(rearmed({ ...order, atMs: Date.parse(at) }))),
    await bus.serve(COMMANDS.createRule, ({ tenantId, body, ...author }) =>
      orAway(writer.create(tenantId, body, author)),
    ),
    await bus.serve(COMMANDS.updateRule, ({ body, ...ref }) => orAway(writer.update(ref, body))),
    await bus.serve(COMMANDS.importPolicy, ({ tenantId, body, ...author }) =>
      orAway(writer.importPolicy(tenantId, body, author)),
    ),
    await bus.serve(COMMANDS.deleteRule, (ref) => orAway(writer.delete(ref))),
    await bus.serve(COMMANDS.planRuleset, ({ body, ...ref }) => orAway(rulesets.plan(ref, body))),
    await bus.serve(COMMANDS.applyRuleset, ({ body, ...ref }) => orAway(rulesets.apply(ref, body))),
    await bus.serve(COMMANDS.releaseRuleset, (ref) => orAway(rulesets.release(ref))),
    await bus.serve(COMMANDS.revertRule, ({ version, ...ref }) => orAway(writer.revert(ref, version))),
  ];
}

/** An owner that cannot store a change says so, and does not pretend. */
export async function orAway<A>(answer: Promise<A>): Promise<A | CommandRefusal> {
  try {
    return await answer;
  } catch (error) {
    if (isDatabaseAway(error) || error instanceof StateUnavailable) return { ok: false, problem: AWAY };
    throw error;
  }
}
