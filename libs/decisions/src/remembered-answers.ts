import { canonicalJson, type Decision, type DecisionRequest, sha256Hex } from '@agentlens/contracts';
import { BoundedMap } from '@agentlens/state';
import type { Answered } from './decision-gateway.ts';

/** A client repeats a lost question at once. After its deadline and this time it has given up. */
const KEPT_BEYOND_MS = 60_000;
/** Maximum number of cached answers; the oldest are evicted. */
const MAX_ANSWERS = 10_000;
/** Maximum number of tenants whose changes are counted; evicting one forgets its answers. */
const MAX_TENANTS = 10_000;

interface Remembered {
  readonly answer: Promise<Answered>;
  readonly untilMs: number;
  readonly epoch: number;
}

/**
 * Caches the answers to questions with an `Idempotency-Key` on this instance, so that a retry gets the same answer.
 * Another instance decides again and still counts the call once. An answer is kept until the result of its call is
 * reported, until the rules, budgets or breakers of its tenant change, or until shortly after its deadline. Not cached:
 * answers that depend on a person or that could not be judged, because a retry may get a better answer, and an approval
 * may be spent by then.
 */
export class RememberedAnswers {
  readonly #answers = new BoundedMap<Remembered>(MAX_ANSWERS);
  /** Names of the answers about each call that has not ended. */
  readonly #ofCalls = new BoundedMap<ReadonlySet<string>>(MAX_ANSWERS);
  readonly #epochs = new BoundedMap<number>(MAX_TENANTS);
  readonly #now: () => number;
  #changes = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Answers a repeated question from the cache, or joins the first one while it is being answered. */
  async once(request: DecisionRequest, ask: () => Promise<Answered>): Promise<Answered> {
    const name = nameQuestion(request);
    const epoch = this.#epochOf(request.tenantId);
    const known = this.#answers.get(name);
    if (known !== undefined && known.untilMs > this.#now() && known.epoch === epoch) return known.answer;
    const answer = ask();
    const remembered = { answer, untilMs: this.#now() + request.deadlineMs + KEPT_BEYOND_MS, epoch };
    this.#answers.set(name, remembered);
    this.#noteCall(request, name);
    const answered = await answer;
    if (isPassing(answered.decision) && this.#answers.get(name) === remembered) this.#answers.delete(name);
    return answered;
  }

  /** The result of a call was reported: the same key now belongs to another call. */
  ended(request: DecisionRequest): void {
    if (request.phase !== 'tool.after') return;
    const call = nameCall(request);
    for (const name of this.#ofCalls.get(call) ?? []) this.#answers.delete(name);
    this.#ofCalls.delete(call);
  }

  /** What the answers of the tenant depend on has changed. */
  changed(tenantId: string): void {
    this.#changes += 1;
    this.#epochs.set(tenantId, this.#changes);
  }

  /** A tenant without a known change has the newest epoch, so that an evicted one never matches older answers. */
  #epochOf(tenantId: string): number {
    const known = this.#epochs.get(tenantId);
    if (known !== undefined) return known;
    this.#epochs.set(tenantId, this.#changes);
    return this.#changes;
  }

  #noteCall(request: DecisionRequest, name: string): void {
    if (request.phase !== 'tool.before') return;
    const call = nameCall(request);
    this.#ofCalls.set(call, new Set(this.#ofCalls.get(call)).add(name));
  }
}

function isPassing({ cause, approvalId, bypasses }: Decision): boolean {
  const asksPeople = cause.kind === 'HITL_PENDING' || approvalId !== undefined;
  return asksPeople || bypasses.some(({ why }) => why !== 'missing');
}

/** The same key with any other content is another question. */
function nameQuestion(request: DecisionRequest): string {
  return sha256Hex(canonicalJson({ ...request, receivedAt: undefined, deadlineMs: undefined }));
}

/** Without a call id, the result of any call of the tool may be that of this one. */
function nameCall({ tenantId, runId, tool, callId }: DecisionRequest): string {
  return JSON.stringify([tenantId, runId, tool?.name ?? '', callId ?? '']);
}
