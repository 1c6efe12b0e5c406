import { isJsonObject, type ProviderJson } from './model-usage.ts';

/** One event of a stream: its bytes as they arrived, and what they say. */
export class ProviderFrame {
  readonly raw: Uint8Array;
  /** Undefined for a comment or a blank line. */
  readonly data: string | undefined;
  readonly event: string | undefined;
  #object: ProviderJson | null | undefined;

  constructor(raw: Uint8Array, data: string | undefined, event: string | undefined) {
    this.raw = raw;
    this.data = data;
    this.event = event;
  }

  /** The data as a JSON object, parsed on first use. Undefined if it is something else. */
  get object(): ProviderJson | undefined {
    this.#object ??= parseObject(this.data) ?? null;
    return this.#object ?? undefined;
  }
}

function parseObject(data: string | undefined): ProviderJson | undefined {
  if (data === undefined || !/^\s*\{/.test(data)) return undefined;
  try {
    const value: unknown = JSON.parse(data);
    return isJsonObject(value) ? value : undefined;
  } catch {
    // A provider that sends something else than JSON has nothing to say here.
    return undefined;
  }
}

const LINE_FEED = 0x0a;
const RETURN = 0x0d;
const DEFAULT_MAX_BYTES = 16 * 1024 * 1024;

/**
 * Splits a stream of server-sent events into frames, wherever the chunks are cut: inside a character, between `\r` and
 * `\n`, within a line end. The bytes of all frames and the rest are exactly the bytes that were pushed.
 */
export class FrameScanner {
  readonly #maxBytes: number;
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  /** True at the start of a line: the next line end finishes the frame. */
  #isLineStart = true;
  /** The last byte was a `\r`, whose `\n` may follow. */
  #afterReturn = false;

  constructor(maxBytes = DEFAULT_MAX_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** True if a frame is larger than any answer needs. The rest of the stream is better passed on unread. */
  get isOverfull(): boolean {
    return this.#pendingBytes > this.#maxBytes;
  }

  /** Returns the frames that this chunk completes. */
  push(chunk: Uint8Array): ProviderFrame[] {
    const frames: ProviderFrame[] = [];
    let start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at];
      if (byte === LINE_FEED && this.#afterReturn) {
        this.#afterReturn = false;
        continue;
      }
      this.#afterReturn = byte === RETURN;
      if (byte !== LINE_FEED && byte !== RETURN) {
        this.#isLineStart = false;
        continue;
      }
      if (!this.#isLineStart) {
        this.#isLineStart = true;
        continue;
      }
      // The `\n` of this `\r` belongs to the frame, if it is here already.
      const end = byte === RETURN && chunk[at + 1] === LINE_FEED ? at + 2 : at + 1;
      frames.push(readFrame(this.#take(chunk.subarray(start, end))));
      start = end;
      if (end === at + 2) this.#afterReturn = false;
      at = end - 1;
    }
    this.#keep(chunk.subarray(start));
    return frames;
  }

  /** What follows the last complete frame, as a frame: clients read it although no blank line ends it. */
  end(): ProviderFrame {
    return readFrame(this.rest());
  }

  /** The bytes after the last complete frame. */
  rest(): Uint8Array {
    return this.#take(new Uint8Array());
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#pending.push(bytes);
    this.#pendingBytes += bytes.length;
  }

  #take(last: Uint8Array): Uint8Array {
    if (this.#pending.length === 0) return last;
    const whole = new Uint8Array(this.#pendingBytes + last.length);
    let at = 0;
    for (const piece of [...this.#pending, last]) {
      whole.set(piece, at);
      at += piece.length;
    }
    this.#pending = [];
    this.#pendingBytes = 0;
    return whole;
  }
}

const decoder = new TextDecoder();

function readFrame(raw: Uint8Array): ProviderFrame {
  let event: string | undefined;
  let data: string | undefined;
  for (const line of decoder.decode(raw).split(/\r\n|\n|\r/)) {
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') data = data === undefined ? value : `${data}\n${value}`;
    else if (field === 'event') event = value;
  }
  return new ProviderFrame(raw, data, event);
}
