import type { DecisionRequest } from '@agentlens/contracts';
import type { CalledRun, CallHistory, PastCall } from '../ports/call-history.ts';
import type { Totals, WindowStore } from '../ports/window-store.ts';
import { type CallIdentity, otherQuestions } from './call-identity.ts';
import type { FactNeeds } from './facts.ts';

/** Reads what rules need to know of a call from the run's history and the agent's windows, and notes the call there. */
export class CallFactsStore {
  readonly #calls: CallHistory;
  readonly #windows: WindowStore;

  constructor(calls: CallHistory, windows: WindowStore) {
    this.#calls = calls;
    this.#windows = windows;
  }

  /** The other calls of the run. A call that is asked about is entered, one that has ended is completed. */
  async history(request: DecisionRequest, identity: CallIdentity): Promise<readonly PastCall[]> {
    const run = runOf(request);
    const { phase, tool } = request;
    if (phase === 'llm.before' || tool === undefined) return this.#calls.read(run);
    const { argsHash, resultHash } = identity;
    const call = {
      ...(request.callId === undefined ? {} : { callId: request.callId }),
      ...{ toolName: tool.name, toolTags: tool.tags, argsHash, atMs: Date.parse(request.receivedAt) },
    };
    if (resultHash === undefined) return this.#calls.enter(run, { ...call, callKey: identity.callKey });
    const durationMs = request.metrics.duration_ms;
    return this.#calls.complete(run, {
      ...call,
      ...{ resultHash, callKey: await this.#begun(request, identity) },
      ...(durationMs === undefined ? {} : { durationMs }),
    });
  }

  /** The series that are needed, as they stood before this call, which is added to them. */
  async totals(request: DecisionRequest, needs: FactNeeds, identity: CallIdentity): Promise<readonly Totals[]> {
    const { tenantId, agentId, receivedAt } = request;
    if (needs.increments.length === 0)
      return this.#windows.read(tenantId, agentId, Date.parse(receivedAt), needs.series);
    return (await this.#windows.advance(advanceOf(request, needs, identity, false))).before;
  }

  /** The call goes ahead, with `modifiedArgs` where it was given others, or its result is taken. */
  async allowed(
    request: DecisionRequest,
    needs: FactNeeds,
    identity: CallIdentity,
    modifiedArgs?: unknown,
  ): Promise<void> {
    // With other arguments nothing that comes later names this question again.
    const own = modifiedArgs === undefined ? [] : [identity.once ?? identity.decisionId];
    const answered = this.#forget(request, needs, identity, [
      ...own,
      ...otherQuestions(request, identity, modifiedArgs),
    ]);
    if (needs.history && request.phase === 'tool.before')
      await this.#calls.settle(runOf(request), identity.callKey, 'allowed');
    await answered;
  }

  /** The call does not happen, so it does not count. A result that is refused was a call all the same. */
  async refused(request: DecisionRequest, needs: FactNeeds, identity: CallIdentity): Promise<void> {
    const undone =
      needs.undo.length === 0 ? undefined : this.#windows.advance(advanceOf(request, needs, identity, true));
    if (needs.history && request.phase === 'tool.before')
      await this.#calls.settle(runOf(request), identity.callKey, 'refused');
    await undone;
    const names = request.phase === 'tool.after' ? otherQuestions(request, identity) : [identity.once ?? ''];
    await this.#forget(request, needs, identity, names);
  }

  /** The key under which a call is that has now ended: without call ids, the oldest equal one that had not. */
  async #begun(request: DecisionRequest, { callKey, argsHash }: CallIdentity): Promise<string> {
    if (request.callId !== undefined) return callKey;
    const past = await this.#calls.read(runOf(request));
    const same = (call: PastCall) => call.toolName === request.tool?.name && call.argsHash === argsHash;
    return past.find((call) => call.status !== 'completed' && same(call))?.callKey ?? callKey;
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
    await this.#windows.forget(tenantId, agentId, ids);
  }
}

function runOf({ tenantId, runId }: DecisionRequest): CalledRun {
  return { tenantId, runId };
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
