import { hash, randomBytes } from 'node:crypto';
import { canonicalJson } from '@agentlens/contracts/schemas';

/** Time in which a question must be answered. */
export const MAX_ANSWER_MS = 600_000;

/** Codes of questions to people. A code is valid for one subject, once, for MAX_ANSWER_MS. */
export interface Confirmations {
  /** @param subject what the question is about, as `subjectOf` returns it */
  issue(subject: string): Promise<string>;
  /** Uses the code up if it is valid for this subject. @returns false otherwise */
  redeem(code: string, subject: string): Promise<boolean>;
}

interface Asked {
  readonly tool: string;
  readonly action: string;
  readonly given: Readonly<Record<string, unknown>>;
  readonly question: string;
}

/** Fingerprint of a call, its question and the caller. */
export function subjectOf(
  { tenantId, keyId }: { readonly tenantId: string; readonly keyId: string },
  { tool, action, given, question }: Asked,
): string {
  return hash('sha256', canonicalJson([tenantId, keyId, tool, action, given, question]), 'base64url');
}

const CODE_BYTES = 12;
const MAX_WAITING = 1_000;

/** Codes of one process. Beyond MAX_WAITING, the oldest is forgotten. */
export class MemoryConfirmations implements Confirmations {
  readonly #waiting = new Map<string, { readonly subject: string; readonly endsAtMs: number }>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async issue(subject: string): Promise<string> {
    const code = randomBytes(CODE_BYTES).toString('base64url');
    this.#waiting.set(code, { subject, endsAtMs: this.#now() + MAX_ANSWER_MS });
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size > MAX_WAITING && oldest !== undefined) this.#waiting.delete(oldest);
    return code;
  }

  async redeem(code: string, subject: string): Promise<boolean> {
    const asked = this.#waiting.get(code);
    if (asked?.subject !== subject) return false;
    this.#waiting.delete(code);
    return asked.endsAtMs > this.#now();
  }
}
