import { moreSevere, orderedOutcome, withTreeLimit } from '@agentlens/platform';
import type { Stage } from '../stages.ts';
import { type Answer, type Call, type DecisionPorts, logsFailure, type Question } from './call.ts';

/** Blocks the call if an order or a limit of the run tree stops its run. */
export function orders({ control }: Pick<DecisionPorts, 'control'>): Stage<Call> {
  return {
    run(call) {
      const ordered = call.callers
        .map(({ tenantId, agentId, runId, ancestors }) => control.stateOf(tenantId, agentId, runId, ancestors))
        .reduce(moreSevere);
      const state = withTreeLimit(ordered, call.request);
      if (state.kind === 'none') return 'next';
      call.answer = { outcome: orderedOutcome(state) };
      return 'done';
    },
  };
}

/** Asks the breakers of the run and its agent. */
export function askBreaker(ports: Pick<DecisionPorts, 'breakers' | 'circuit' | 'logger'>): Stage<Question> {
  const { breakers, circuit } = ports;
  const ask = async (question: Question) => {
    const { request, call } = question;
    const { decisionId, once } = call.identity;
    question.breaker = await circuit.ask(
      call.deadline,
      () => breakers.consult(request, decisionId, call.nowMs, once),
      logsFailure(ports, request, 'checking breakers failed'),
    );
    return 'next' as const;
  };
  return { run: (question) => (breakers.remembers(question.request) ? 'next' : ask(question)) };
}

/** Blocks the call if a breaker is open. A breaker that could not be asked allows it. */
export const breaker: Stage<Question> = {
  run(question) {
    const { breaker: verdict, call } = question;
    if (typeof verdict === 'string') call.bypasses.push({ ruleId: 'circuit_breaker', why: verdict, did: 'allow' });
    else if (!verdict.allowed) {
      question.answer = openBreaker(verdict);
      return 'done';
    }
    return 'next';
  },
};

function openBreaker({ ref, reason }: Extract<Question['breaker'], { allowed: false }>): Answer {
  return {
    outcome: {
      ...{ verdict: 'BLOCK', control: 'TERMINATE', effect: 'terminate' },
      cause: { kind: 'LOCKDOWN', lockdownId: `breaker:${ref.scope}:${ref.scopeId}` },
      message: `The circuit breaker of this ${ref.scope} is open: ${reason}`,
      reason: 'breaker',
    },
  };
}
