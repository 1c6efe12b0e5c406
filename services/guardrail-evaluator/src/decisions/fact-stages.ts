import { byPriority, type FactNeeds, standingOf } from '@agentlens/guardrails';
import type { BackgroundWork } from '@agentlens/messaging';
import type { DecisionOutcome } from '@agentlens/platform';
import {
  type Answer,
  blockedBy,
  type Call,
  type CallStage,
  type DecisionPorts,
  logsFailure,
  type Question,
} from './call.ts';

/** Fetches the facts that the rules need. The history of the run is fetched once, for all callers of the call. */
export function gatherFacts({ facts }: Pick<DecisionPorts, 'facts'>) {
  return {
    async run(question: Question): Promise<undefined> {
      const { request, needs, call } = question;
      const { identity, deadline } = call;
      if ((needs.labels?.clears.length ?? 0) > 0) {
        call.endsAllowedCall ??= await facts.endsAllowedCall(call.request, identity, deadline);
      }
      const history = () => (call.history ??= facts.history(call.request, identity, deadline));
      question.facts = await facts.gather(request, needs, identity, deadline, history);
    },
  };
}

/**
 * Labels the run tree for an allowed call, or one whose approval failed. Awaited, because the data may be anywhere in
 * the tree once the answer is out. A label that cannot be set is up to the `onUnavailable` setting of each rule that
 * needs it.
 */
export function labelTree({ facts }: Pick<DecisionPorts, 'facts'>): CallStage {
  const label = async (call: Call, { request }: Question, wanted: WantedLabels, answer: Answer): Promise<undefined> => {
    const { identity, deadline, bypasses } = call;
    const unset = await facts.label(request, wanted, identity, deadline);
    const why = typeof unset === 'string' ? unset : 'unavailable';
    const failed = wanted.sets.filter((one) => typeof unset === 'string' || unset.includes(one.label));
    const rules = [...new Set(failed.map(({ rule }) => rule))].sort(byPriority);
    bypasses.push(...rules.map(({ id, onUnavailable: did }) => ({ ruleId: id, why, did })));
    const blocking = rules.find(
      (rule) => rule.onUnavailable === 'block' && standingOf(rule, request).mode === 'enforce',
    );
    if (blocking === undefined || answer.outcome.verdict === 'BLOCK') return;
    const message = `The call could not be recorded for rule "${blocking.name}"`;
    call.answer = { ...answer, outcome: { ...blockedBy(blocking.id, message), reason: 'rule' } };
  };
  return {
    run(call) {
      const { answer, questions } = call;
      const asked = questions.at(-1);
      if (answer === undefined || asked === undefined) return undefined;
      const wanted = labelsFor(answer.outcome, asked.needs.labels, call.endsAllowedCall === true);
      if (wanted === undefined || wanted.sets.length + wanted.clears.length === 0) return undefined;
      return label(call, asked, wanted, answer);
    },
  };
}

type WantedLabels = Pick<NonNullable<FactNeeds['labels']>, 'sets' | 'clears' | 'prints'>;

/**
 * What a call with this outcome does to the labels of its run tree. An agent reports results itself, so only the result
 * of a call that was asked about and allowed clears labels.
 */
function labelsFor(
  { verdict, reason, cause }: DecisionOutcome,
  needed: FactNeeds['labels'],
  mayClear: boolean,
): WantedLabels | undefined {
  if (verdict === 'ALLOW') return needed === undefined || mayClear ? needed : { ...needed, clears: [] };
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
  background: Pick<BackgroundWork, 'add'>,
): CallStage {
  const { facts } = ports;
  return {
    run({ answer, judged, identity, deadline }) {
      deadline.end();
      if (answer === undefined) return undefined;
      const { verdict, cause, modifiedArgs } = answer.outcome;
      // A call that waits for a person is still open: the agent asks again under the same name.
      if (cause.kind === 'HITL_PENDING' && identity.once !== undefined) return undefined;
      for (const { request, needs } of judged) {
        const noted =
          verdict === 'ALLOW'
            ? facts.allowed(request, needs, identity, modifiedArgs)
            : facts.refused(request, needs, identity);
        background.add(noted.catch(logsFailure(ports, request, 'noting a call failed')));
      }
      return undefined;
    },
  };
}
