import { cleanName, type Decision, type DecisionRequest, repairId, TOOL_NAME_CHARS } from '@agentlens/contracts';
import { type DecisionGateway, type KnownRuns, placeRun, type TreeLimiter, transportable } from '@agentlens/decisions';
import type { Clock } from '@agentlens/platform';
import type { GatewayCall } from '../gateway-call.ts';

/** Longer than for a call: only the tool call waits, and its approval may have to be created first. */
const DEADLINE_MS = 5_000;
/** Arguments beyond this are not judged: rules about them say what then happens. */
const MAX_ARGS_CHARS = 1024 * 1024;

/** The name of a tool that neither the request nor the answer tells. */
export const UNKNOWN_TOOL = 'unknown';

/** A tool call of an answer, or its result in a later request. */
export interface AskedTool {
  readonly phase: 'tool.before' | 'tool.after';
  readonly name: string;
  readonly callId: string;
  /** Undefined if they are no JSON. */
  readonly args: unknown;
  readonly argsChars: number;
  readonly result?: unknown;
}

interface ToolQuestionsDependencies {
  readonly decisions: Pick<DecisionGateway, 'decide' | 'tooLarge'>;
  readonly runs: Pick<KnownRuns, 'completed'>;
  readonly trees: Pick<TreeLimiter, 'running'>;
  readonly clock: Clock;
}

/** Asks about tools in the name of the agent, as an SDK in its process would. */
export class ToolQuestions {
  readonly #parts: ToolQuestionsDependencies;

  constructor(parts: ToolQuestionsDependencies) {
    this.#parts = parts;
  }

  async ask(call: GatewayCall, tool: AskedTool): Promise<Decision> {
    const { decisions } = this.#parts;
    const { decisionFailMode: failMode = 'allow', decisionPath: path, treeLimits } = call.caller;
    const written = this.#question(call, tool);
    const chars = tool.argsChars + (tool.result === undefined ? 0 : JSON.stringify(tool.result).length);
    // A rule for another name must not decide it.
    if (tool.name.length > TOOL_NAME_CHARS) return decisions.tooLarge(written);
    const isUnread = tool.args === undefined || tool.argsChars > MAX_ARGS_CHARS;
    const fitting = transportable(written, chars * 3, isUnread ? ['args'] : []);
    if (fitting === null) return decisions.tooLarge(written);
    const question = await placeRun(this.#parts, fitting, treeLimits);
    return (await decisions.decide(question, { failMode, path })).decision;
  }

  #question(call: GatewayCall, { phase, name, callId, args, result }: AskedTool): DecisionRequest {
    const { tenantId, agentId, runId, sessionId, caller, model, connection } = call;
    return {
      ...{ tenantId, agentId, runId, sessionId, phase, askedBy: caller.keyId },
      // As every route repairs them, so that a question by an SDK names the same call.
      callId: repairId(callId),
      tool: { name: cleanName(name, TOOL_NAME_CHARS) || UNKNOWN_TOOL, tags: ['via:gateway'] },
      args: args ?? null,
      ...(result === undefined ? {} : { result }),
      tags: { model, provider: connection.provider, connection: connection.name, via: 'gateway' },
      subjects: [],
      metrics: {},
      keepsArguments: caller.keepsArguments,
      asksAgain: caller.asksAgain,
      receivedAt: new Date(this.#parts.clock.now()).toISOString(),
      deadlineMs: DEADLINE_MS,
    };
  }
}
