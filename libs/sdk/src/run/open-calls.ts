/** A run calls dozens of tools at a time, not thousands. Calls that never report back are evicted, oldest first. */
const MAX_OPEN_CALLS = 500;

/**
 * Gives each call one id from decision to result. For frameworks without ids, a result belongs to the oldest open call
 * of that tool.
 */
export class OpenCalls {
  readonly #open = new Map<string, string[]>();
  readonly #waiting = new Map<string, string>();
  #count = 0;

  /** Id of a call that waits for a human; asking about the same call again reuses it. */
  waiting(tool: string, args: string): string | undefined {
    return this.#waiting.get(`${tool} ${args}`);
  }

  setWaiting(tool: string, args: string, callId: string | null): void {
    const key = `${tool} ${args}`;
    if (callId === null) {
      this.#waiting.delete(key);
      return;
    }
    this.#waiting.set(key, callId);
    const [oldest] = this.#waiting.keys();
    if (this.#waiting.size > MAX_OPEN_CALLS && oldest !== undefined) this.#waiting.delete(oldest);
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
