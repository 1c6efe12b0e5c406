/** Where nothing is known yet, events per second. */
const ASSUMED = 10_000;
/** A reading is over this long at least; turns come in bursts. */
const READ_OVER_MS = 200;
/** Weight of the newest reading. */
const WEIGHT = 0.5;

/** How fast the lines move, learnt while somebody waits: what begins while nobody does tells what comes, not what is possible. */
export class LineSpeed {
  #perSecond = ASSUMED;
  #begun = 0;
  #sinceMs: number | null = null;

  /** Events per second that begin while others wait, of all tenants. */
  get perSecond(): number {
    return this.#perSecond;
  }

  /** So many events had their turn; `waiting` still wait. Times only go forward. */
  begun(events: number, waiting: number, nowMs: number): void {
    if (this.#sinceMs !== null) this.#count(events, nowMs - this.#sinceMs);
    if (waiting === 0) this.#sinceMs = null;
    else if (this.#sinceMs === null) this.#restart(nowMs);
  }

  #count(events: number, passedMs: number): void {
    this.#begun += events;
    if (passedMs < READ_OVER_MS) return;
    this.#perSecond += ((this.#begun * 1_000) / passedMs - this.#perSecond) * WEIGHT;
    this.#restart((this.#sinceMs ?? 0) + passedMs);
  }

  #restart(nowMs: number): void {
    this.#begun = 0;
    this.#sinceMs = nowMs;
  }
}
