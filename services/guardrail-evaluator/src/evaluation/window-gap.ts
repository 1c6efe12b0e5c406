import { type Series, spanStart } from '@agentlens/guardrails';

/**
 * Tracks what is missing from the windows after their store lost them. The gap closes by itself as the windows move on.
 */
export class WindowGap {
  #sinceMs = 0;

  /** Sets the time since which everything is counted; 0 if nothing is missing. */
  countedSince(atMs: number): void {
    this.#sinceMs = atMs;
  }

  get open(): boolean {
    return this.#sinceMs > 0;
  }

  /** Why a rule that reads these series measures too little; null if it does not. */
  reason(series: readonly Series[], nowMs: number): string | null {
    const missingMs = Math.max(0, ...series.map(({ span }) => this.#sinceMs - spanStart(span, nowMs)));
    if (!this.open || missingMs === 0) return null;
    const until = new Date(nowMs + missingMs).toISOString();
    return `window degraded until ${until}: what happened before ${new Date(this.#sinceMs).toISOString()} was lost`;
  }
}
