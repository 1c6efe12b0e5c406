import type { DecisionRequest } from '@agentlens/contracts';
import type {
  CalledRun,
  CallHistory,
  DecisionFacts,
  FactNeeds,
  PastCall,
  Totals,
  WindowStore,
} from '@agentlens/guardrails';
import type { Platform } from '@agentlens/platform';
import type { AgentDirectory } from './agent-directory.ts';
import { type CallIdentity, otherQuestions } from './call-identity.ts';
import type { Deadline } from './deadline.ts';
import type { StateCircuit } from './state-circuit.ts';

interface FactGathererDependencies {
  readonly calls: CallHistory;
  readonly windows: WindowStore;
  readonly agents: Pick<AgentDirectory, 'agent'>;
  readonly circuit: Pick<StateCircuit, 'ask' | 'away'>;
  readonly logger: Platform['logger'];
}

/** Fetches what rules need to know of a call, all at once, and notes the call with that. */
export class FactGatherer {
  readonly #parts: FactGathererDependencies;

  constructor(parts: FactGathererDependencies) {
    this.#parts = parts;
  }

  async gather(
    request: DecisionRequest,
    needs: FactNeeds,
    identity: CallIdentity,
    deadline: Deadline,
  ): Promise<DecisionFacts> {
    const { argsHash, resultHash } = identity;
    const { circuit, agents } = this.#parts;
    const failed = (error: unknown) =>
      this.#parts.logger.warn({ err: error, tenantId: request.tenantId }, 'facts of a decision could not be fetched');
    const [history, totals, agent] = await Promise.all([
      needs.history ? circuit.ask(deadline, () => this.#history(request, identity), failed) : undefined,
      needs.series.length > 0 ? circuit.ask(deadline, () => this.#totals(request, needs, identity), failed) : undefined,
      needs.agent ? deadline.within(agents.agent(request.tenantId, request.agentId), failed) : undefined,
    ]);
    return {
      ...{ needs, argsHash },
      ...(resultHash === undefined ? {} : { resultHash }),
      ...(history === undefined ? {} : { history }),
      ...(totals === undefined ? {} : { totals }),
      ...(agent == null ? {} : { agent }),
    };
  }

  /** The call goes ahead, with `modifiedArgs` where it was given others, or its result is taken. */
  async allowed(
    request: DecisionRequest,
    needs: FactNeeds,
    identity: CallIdentity,
    modifiedArgs?: unknown,
  ): Promise<void> {
    const { calls, circuit } = this.#parts;
    if (circuit.away) return;
    // With other arguments nothing that comes later names this question again.
    const own = modifiedArgs === undefined ? [] : [identity.once ?? identity.decisionId];
    const answered = this.#forget(request, needs, identity, [
      ...own,
      ...otherQuestions(request, identity, modifiedArgs),
    ]);
    if (needs.history && request.phase === 'tool.before')
      await calls.settle(runOf(request), identity.callKey, 'allowed');
    await answered;
  }

  /** The call does not happen, so it does not count. A result that is refused was a call all the same. */
  async refused(request: DecisionRequest, needs: FactNeeds, identity: CallIdentity): Promise<void> {
    const { calls, windows, circuit } = this.#parts;
    if (circuit.away) return;
    const undone = needs.undo.length === 0 ? undefined : windows.advance(advanceOf(request, needs, identity, true));
    if (needs.history && request.phase === 'tool.before')
      await calls.settle(runOf(request), identity.callKey, 'refused');
    await undone;
    const names = request.phase === 'tool.after' ? otherQuestions(request, identity) : [identity.once ?? ''];
    await this.#forget(request, needs, identity, names);
  }

  /** What is asked under these names from now on is counted anew. */
  async #forget(
    { tenantId, agentId, runId, phase }: DecisionRequest,
    { series }: FactNeeds,
    { once }: CallIdentity,
    questions: readonly string[],
  ): Promise<void> {
    if (once === undefined || series.length === 0 || phase === 'llm.before') return;
    const ids = questions.flatMap((question) => [true, false].map((undo) => messageId(runId, question, undo)));
    await this.#parts.windows.forget(tenantId, agentId, ids);
  }

  async #history(request: DecisionRequest, identity: CallIdentity): Promise<readonly PastCall[]> {
    const { calls } = this.#parts;
    const run = runOf(request);
    const { phase, tool } = request;
    if (phase === 'llm.before' || tool === undefined) return calls.read(run);
    const { argsHash, resultHash } = identity;
    const call = {
      ...(request.callId === undefined ? {} : { callId: request.callId }),
      ...{ toolName: tool.name, toolTags: tool.tags, argsHash, atMs: Date.parse(request.receivedAt) },
    };
    if (resultHash === undefined) return calls.enter(run, { ...call, callKey: identity.callKey });
    const durationMs = request.metrics.duration_ms;
    return calls.complete(run, {
      ...call,
      ...{ resultHash, callKey: await this.#begun(request, identity) },
      ...(durationMs === undefined ? {} : { durationMs }),
    });
  }

  /** The key under which a call is that has now ended: without call ids, the oldest equal one that had not. */
  async #begun(request: DecisionRequest, { callKey, argsHash }: CallIdentity): Promise<string> {
    if (request.callId !== undefined) return callKey;
    const past = await this.#parts.calls.read(runOf(request));
    const same = (call: PastCall) => call.toolName === request.tool?.name && call.argsHash === argsHash;
    return past.find((call) => call.status !== 'completed' && same(call))?.callKey ?? callKey;
  }

  async #totals(request: DecisionRequest, needs: FactNeeds, identity: CallIdentity): Promise<readonly Totals[]> {
    const { windows } = this.#parts;
    const { tenantId, agentId, receivedAt } = request;
    if (needs.increments.length === 0) return windows.read(tenantId, agentId, Date.parse(receivedAt), needs.series);
    return (await windows.advance(advanceOf(request, needs, identity, false))).before;
  }
}

function runOf({ tenantId, agentId, runId }: DecisionRequest): CalledRun {
  return { tenantId, agentId, runId };
}

/** Under a message id of the question's own, so that a retry is answered as the first time and counts once. */
function advanceOf(request: DecisionRequest, needs: FactNeeds, identity: CallIdentity, undo: boolean) {
  const { tenantId, agentId, runId, receivedAt } = request;
  const question = identity.once ?? identity.decisionId;
  return {
    ...{ tenantId, agentId, nowMs: Date.parse(receivedAt), series: needs.series, retryable: [], cooldowns: [] },
    messageId: messageId(runId, question, undo),
    increments: undo ? needs.undo : needs.increments,
  };
}

function messageId(runId: string, question: string, undo: boolean): string {
  return `${undo ? 'undo' : 'ask'}#${runId}#${question}`;
}
