import { canonicalJson, type Decision, type DecisionRequest, sha256Hex } from '@agentlens/contracts';
import { BoundedMap } from '@agentlens/state';

/** A client that has not repeated its question by then has given up. */
const KEPT_MS = 10 * 60_000;
/** The oldest make room. */
const MOST_ANSWERS = 10_000;

interface Remembered {
  readonly answer: Promise<Decision>;
  readonly untilMs: number;
}

/**
 * What questions with an `Idempotency-Key` were answered by this instance, so that a repeated one gets the same answer.
 * At another instance it is decided anew, and still counted once. Not kept: what a human decides or
 * could not be judged, for a later attempt may be told more, and an approval may be spent by then.
 */
export class RememberedAnswers {
  readonly #answers = new BoundedMap<Remembered>(MOST_ANSWERS);
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** The same question again, also while the first is being answered. */
  async once(request: DecisionRequest, ask: () => Promise<Decision>): Promise<Decision> {
    const name = nameOf(request);
    const known = this.#answers.get(name);
    if (known !== undefined && known.untilMs > this.#now()) return known.answer;
    const answer = ask();
    this.#answers.set(name, { answer, untilMs: this.#now() + KEPT_MS });
    const decision = await answer;
    if (isPassing(decision)) this.#answers.delete(name);
    return decision;
  }
}

function isPassing({ cause, approvalId, bypasses }: Decision): boolean {
  const asksPeople = cause.kind === 'HITL_PENDING' || approvalId !== undefined;
  return asksPeople || bypasses.some(({ why }) => why !== 'missing');
}

/** Anything else under the same key is another question. */
function nameOf(request: DecisionRequest): string {
  return sha256Hex(canonicalJson({ ...request, receivedAt: undefined, deadlineMs: undefined }));
}
