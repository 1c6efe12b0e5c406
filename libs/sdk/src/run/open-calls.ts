/** A run calls tools by the dozen, not by the thousand; what never reports back is forgotten, oldest first. */
const MOST_CALLS = 500;

/**
 * Gives each call one id from its question to its result. Frameworks that hand over no id are served by order: the
 * result of a tool belongs to the oldest call of it that is still open.
 */
export class OpenCalls {
  readonly #open = new Map<string, string[]>();
  readonly #waiting = new Map<string, string>();
  #count = 0;

  /** The id of a call that waits for a human: asking about the same call again is asking about that one. */
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
    if (this.#waiting.size > MOST_CALLS && oldest !== undefined) this.#waiting.delete(oldest);
  }

  begin(tool: string, callId: string): void {
    const calls = this.#open.get(tool) ?? [];
    calls.push(callId);
    this.#open.set(tool, calls);
    if (++this.#count > MOST_CALLS) this.#forgetOne();
  }

  /** The id under which a call was asked about; undefined where nobody asked. */
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
