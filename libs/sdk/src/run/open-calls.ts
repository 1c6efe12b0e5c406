/** A run calls dozens of tools at a time, not thousands. Calls that never report back are evicted, oldest first. */
const MAX_OPEN_CALLS = 500;

/**
 * Gives each call one id from decision to result. For frameworks without ids, a result belongs to the oldest open call
 * of that tool.
 */
export class OpenCalls {
  readonly #open = new Map<string, string[]>();
  /** Ids of calls that wait for a person while nothing here waits for them, by tool and arguments. */
  readonly #parked = new Map<string, string>();
  /** Ids of calls that waited, and whether their approval is used. */
  readonly #asked = new Map<string, boolean>();
  #count = 0;

  /**
   * Takes the id of an equal call that waits for a person: asking about the same call again asks about the same
   * approval, regardless of the id that the framework gives the repetition. Taken, so that only one of two repetitions
   * has it.
   */
  takeParked(tool: string, args: string): string | undefined {
    const key = `${tool} ${args}`;
    const callId = this.#parked.get(key);
    this.#parked.delete(key);
    return callId;
  }

  /** Something waits for this call here, so a repetition is another call. */
  unpark(callId: string): void {
    for (const [key, parked] of this.#parked) if (parked === callId) this.#parked.delete(key);
  }

  park(tool: string, args: string, callId: string): void {
    remember(this.#parked, `${tool} ${args}`, callId);
    remember(this.#asked, callId, false);
  }

  /** Whether a person was asked about this call before. */
  hasAsked(callId: string): boolean {
    return this.#asked.has(callId);
  }

  /** False if another call has used the approval of this one; each approval is for one call. */
  useApproval(callId: string): boolean {
    const isUsed = this.#asked.get(callId);
    if (isUsed === undefined) return true;
    this.#asked.set(callId, true);
    return !isUsed;
  }

  begin(tool: string, callId: string): void {
    const calls = this.#open.get(tool) ?? [];
    calls.push(callId);
    this.#open.set(tool, calls);
    if (++this.#count > MAX_OPEN_CALLS) this.#forgetOne();
  }

  /** Id under which a call was decided; undefined if it was not. */
  finish(tool: string, callId: string | undefined): string | undefined {
    const calls = this.#open.get(tool);
    const at = callId === undefined ? 0 : (calls?.indexOf(callId) ?? -1);
    const [found] = at === -1 ? [] : (calls?.splice(at, 1) ?? []);
    if (found !== undefined) this.#count--;
    if (calls?.length === 0) this.#open.delete(tool);
    return callId ?? found;
  }

  #forgetOne(): void {
    const [tool] = this.#open.keys();
    if (tool !== undefined) this.finish(tool, undefined);
  }
}

function remember<V>(where: Map<string, V>, key: string, value: V): void {
  where.set(key, value);
  const [oldest] = where.keys();
  if (where.size > MAX_OPEN_CALLS && oldest !== undefined) where.delete(oldest);
}
