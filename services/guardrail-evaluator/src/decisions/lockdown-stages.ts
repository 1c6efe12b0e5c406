import { orderedOutcome, stateOfRun } from '@agentlens/platform';
import {
  type Answer,
  type CallStage,
  type DecisionPorts,
  logsFailure,
  type Question,
  type QuestionStage,
} from './call.ts';

/** Blocks the call if an order or a limit of the run tree stops its run. */
export function checkOrders({ control }: Pick<DecisionPorts, 'control'>): CallStage {
  return {
    run(call) {
      const state = stateOfRun(control, call.request);
      return state.kind === 'none' ? undefined : { outcome: orderedOutcome(state) };
    },
  };
}

/** Asks the breakers of the run and its agent. */
export function askBreaker(ports: Pick<DecisionPorts, 'breakers' | 'circuit' | 'logger'>) {
  const { breakers, circuit } = ports;
  const ask = async (question: Question): Promise<undefined> => {
    const { request, call } = question;
    const { decisionId, once } = call.identity;
    question.breaker = await circuit.ask(
      call.deadline,
      () => breakers.consult(request, decisionId, call.nowMs, once),
      logsFailure(ports, request, 'checking breakers failed'),
    );
  };
  return { run: (question: Question) => (breakers.remembers(question.request) ? undefined : ask(question)) };
}

/** Blocks the call if a breaker is open. A breaker that could not be asked allows it. */
export const judgeBreaker: QuestionStage = {
  run({ breaker, call }) {
    if (typeof breaker !== 'string') return breaker.allowed ? undefined : openBreaker(breaker);
    call.bypasses.push({ ruleId: 'circuit_breaker', why: breaker, did: 'allow' });
    return undefined;
  },
};

function openBreaker({ ref, reason }: Extract<Question['breaker'], { allowed: false }>): Answer {
  return {
    outcome: {
      ...{ verdict: 'BLOCK', control: 'TERMINATE', effect: 'terminate' },
      cause: { kind: 'LOCKDOWN', lockdownId: `breaker:${ref.scope}:${ref.scopeId}` },
      message: `The circuit breaker of this ${ref.scope === 'tree' ? 'run tree' : ref.scope} is open: ${reason}`,
      reason: 'breaker',
    },
  };
}
