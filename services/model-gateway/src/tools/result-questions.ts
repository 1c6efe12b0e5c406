import type { Decision } from '@agentlens/contracts';
import type { ToolResult } from '@agentlens/model-api';
import { BoundedMap } from '@agentlens/state';
import { describeDecision } from '../describe-decision.ts';
import type { GatewayCall } from '../gateway-call.ts';
import { RefusedCall } from '../refused-call.ts';
import { type ToolQuestions, UNKNOWN_TOOL } from './tool-questions.ts';

/** Remembered results that were allowed, and calls of answers. The oldest are evicted, which at worst asks again. */
const MAX_REMEMBERED = 50_000;

/** Asks about the results of tools before the model reads them. Each is asked about once. */
export class ResultQuestions {
  readonly #questions: Pick<ToolQuestions, 'ask'>;
  readonly #allowed = new BoundedMap<true>(MAX_REMEMBERED);

  constructor(questions: Pick<ToolQuestions, 'ask'>) {
    this.#questions = questions;
  }

  /** @throws RefusedCall if a result may not be used */
  async require(call: GatewayCall, results: readonly ToolResult[]): Promise<void> {
    const fresh = results.filter(({ callId }) => !this.#allowed.has(nameResult(call, callId)));
    const decisions = await Promise.all(fresh.map((result) => this.#ask(call, result)));
    for (const [at, decision] of decisions.entries()) {
      if (decision.verdict === 'BLOCK') throw refuseResult(fresh[at], decision);
    }
    for (const { callId } of fresh) this.#allowed.set(nameResult(call, callId), true);
  }

  #ask(call: GatewayCall, { callId, call: made, result }: ToolResult): Promise<Decision> {
    const { name = '', args } = made ?? {};
    const argsChars = JSON.stringify(args ?? null).length;
    return this.#questions.ask(call, { phase: 'tool.after', name, callId, args: args ?? {}, argsChars, result });
  }
}

function nameResult({ tenantId, runId }: GatewayCall, callId: string): string {
  return JSON.stringify([tenantId, runId, callId]);
}

function refuseResult(result: ToolResult | undefined, decision: Decision): RefusedCall {
  const tool = (result?.call?.name ?? UNKNOWN_TOOL).slice(0, 100);
  const code = decision.control === 'TERMINATE' ? 'agentlens_stopped' : 'agentlens_blocked';
  const text = `AgentLens refused this call because of the result of the tool ${tool}: ${describeDecision(decision)}`;
  return new RefusedCall('policy', code, text, decision.id);
}
