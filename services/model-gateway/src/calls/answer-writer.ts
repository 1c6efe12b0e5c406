import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

/** How long a client may read slower than the provider writes. */
const SLOW_READER_MS = 60_000;

/** The client left, or reads too slowly. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
}

/** Writes to the client as fast as it reads. */
export class AnswerWriter {
  readonly #response: ServerResponse;
  readonly #now: () => number;
  #firstByteAtMs: number | undefined;
  #hasHead = false;

  constructor(response: ServerResponse, now: () => number) {
    this.#response = response;
    this.#now = now;
  }

  get firstByteAtMs(): number | undefined {
    return this.#firstByteAtMs;
  }

  get hasHead(): boolean {
    return this.#hasHead;
  }

  /** Goes out with the first bytes of the answer. */
  head(status: number, headers: Readonly<Record<string, string>>): void {
    this.#response.writeHead(status, { ...headers });
    this.#hasHead = true;
  }

  /** The first words of a stream may take minutes. */
  flushHead(): void {
    this.#response.flushHeaders();
  }

  /**
   * Resolves when more may be written.
   *
   * @param ending ends the wait for a slow client
   * @throws ClientGone
   */
  async write(bytes: Uint8Array | string, ending?: AbortSignal): Promise<void> {
    if (bytes.length === 0) return;
    if (this.#response.destroyed) throw new ClientGone('the client left');
    this.#firstByteAtMs ??= this.#now();
    if (this.#response.write(bytes)) return;
    const waiting = new AbortController();
    const signals = [waiting.signal, AbortSignal.timeout(SLOW_READER_MS), ...(ending === undefined ? [] : [ending])];
    const signal = AbortSignal.any(signals);
    const left = once(this.#response, 'close', { signal }).then(() => false);
    const drained = once(this.#response, 'drain', { signal }).then(() => true);
    // The one that loses is aborted below.
    left.catch(() => undefined);
    drained.catch(() => undefined);
    try {
      if (!(await Promise.race([drained, left]))) throw new ClientGone('the client left');
    } catch (error) {
      if (ending?.aborted === true) throw ending.reason;
      throw error instanceof ClientGone ? error : new ClientGone('the client reads too slowly');
    } finally {
      waiting.abort();
    }
  }

  end(): void {
    this.#response.end();
  }

  /** Ends an answer that cannot be completed: the client sees that it is cut. */
  cut(): void {
    this.#response.destroy();
  }
}
