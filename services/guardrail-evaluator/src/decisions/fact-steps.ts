import { byPriority, type DecisionFacts, type FactNeeds, standingOf } from '@agentlens/guardrails';
import type { BackgroundWork } from '@agentlens/messaging';
import type { DecisionOutcome } from '@agentlens/platform';
import {
  type Answer,
  blockedBy,
  type Call,
  type DecisionPorts,
  type Judged,
  type Labelled,
  logsFailure,
  type Question,
  type Questions,
} from './call.ts';

/** Fetches the facts that the rules need. The history of the run is fetched once, for all callers of the call. */
export async function gatherFacts(
  { facts }: Pick<DecisionPorts, 'facts'>,
  { request, needs, call }: Question,
): Promise<DecisionFacts> {
  // Before the call is noted, because the note of a result looks like an end.
  if (needs.labels !== undefined && needs.labels.clears.length > 0) await call.endsAllowedCall();
  return facts.gather(request, needs, call.identity, call.deadline, call.history);
}

/**
 * Labels the run tree for an allowed call, or one whose approval failed. Awaited, because the data may be anywhere in
 * the tree once the answer is out. A label that cannot be set is up to the `onUnavailable` setting of each rule that
 * needs it.
 */
export async function labelTree(
  { facts }: Pick<DecisionPorts, 'facts'>,
  call: Call,
  questions: Questions,
  { answer, judged }: Judged,
): Promise<Labelled> {
  const { request, needs } = questions.at(-1) ?? questions[0];
  const wanted = await chooseLabels(answer.outcome, needs.labels, call);
  if (wanted === undefined || wanted.sets.length + wanted.clears.length === 0) return { answer, judged, labels: 'set' };
  const { identity, deadline, bypasses } = call;
  const unset = await facts.label(request, wanted, identity, deadline);
  const why = typeof unset === 'string' ? unset : 'unavailable';
  const failed = wanted.sets.filter((one) => typeof unset === 'string' || unset.includes(one.label));
  const rules = [...new Set(failed.map(({ rule }) => rule))].sort(byPriority);
  bypasses.push(...rules.map(({ id, onUnavailable: did }) => ({ ruleId: id, why, did })));
  const blocking = rules.find((rule) => rule.onUnavailable === 'block' && standingOf(rule, request).mode === 'enforce');
  if (blocking === undefined || answer.outcome.verdict === 'BLOCK') return { answer, judged, labels: 'set' };
  const message = `The call could not be recorded for rule "${blocking.name}"`;
  const blocked: Answer = { ...answer, outcome: { ...blockedBy(blocking.id, message), reason: 'rule' } };
  return { answer: blocked, judged, labels: 'set' };
}

type WantedLabels = Pick<NonNullable<FactNeeds['labels']>, 'sets' | 'clears' | 'prints'>;

/**
 * What a call with this outcome does to the labels of its run tree. An agent reports results itself, so only the result
 * of a call that was asked about and allowed clears labels.
 */
async function chooseLabels(
  { verdict, reason, cause }: DecisionOutcome,
  needed: FactNeeds['labels'],
  call: Call,
): Promise<WantedLabels | undefined> {
  if (verdict === 'ALLOW') {
    if (needed === undefined || needed.clears.length === 0 || (await call.endsAllowedCall())) return needed;
    return { ...needed, clears: [] };
  }
  const isDenied = reason === 'approval' && cause.kind !== 'HITL_PENDING';
  return isDenied && needed !== undefined ? { sets: needed.setsIfDenied, clears: [], prints: [] } : undefined;
}

/**
 * Notes the outcome of the call. Sent before the answer, so that the agent's next question sees it, but not awaited.
 *
 * @param background waits for the notes when the service stops
 */
export function noteOutcome(
  ports: Pick<DecisionPorts, 'facts' | 'logger'>,
  { identity }: Call,
  { answer, judged }: Labelled,
  background: Pick<BackgroundWork, 'add'>,
): void {
  const { facts } = ports;
  const { verdict, cause, modifiedArgs } = answer.outcome;
  // A call that waits for a person is still open: the agent asks again under the same name.
  if (cause.kind === 'HITL_PENDING' && identity.once !== undefined) return;
  for (const { request, needs } of judged) {
    const noted =
      verdict === 'ALLOW'
        ? facts.allowed(request, needs, identity, modifiedArgs)
        : facts.refused(request, needs, identity);
    background.add(noted.catch(logsFailure(ports, request, 'noting a call failed')));
  }
}
