import type { ProviderFrame } from '../frame-scanner.ts';
import type { ModelApi } from '../model-dialect.ts';
import { ChatCalls } from './chat-calls.ts';
import { GeminiCalls, isSigned } from './gemini-calls.ts';
import { MessagesCalls } from './messages-calls.ts';
import { hasEncryptedReasoning, ResponseCalls } from './response-calls.ts';
import { type AnsweredCall, looksLikeJson, type StreamedCalls, type ToolVerdicts } from './tool-call.ts';

/** More than any tool call needs. */
const MAX_HELD_BYTES = 32 * 1024 * 1024;
const MAX_CALLS = 256;

const CREATE: Readonly<Partial<Record<ModelApi, () => StreamedCalls>>> = {
  messages: () => new MessagesCalls(),
  chat: () => new ChatCalls(),
  responses: () => new ResponseCalls(),
  generate: () => new GeminiCalls(),
};

/**
 * Holds the end of a stream, from the first tool call that has to be decided. Everything before it, and answers without
 * such a call, pass as they are.
 */
export class HeldAnswer {
  readonly #calls: StreamedCalls | undefined;
  readonly #holds: (toolName: string) => boolean;
  #held: ProviderFrame[] | undefined;
  #heldBytes = 0;
  #isSigned = false;
  #isUnread = false;

  /** @param holds whether calls of a tool have to be decided before the client sees them */
  constructor(api: ModelApi, holds: (toolName: string) => boolean) {
    this.#calls = CREATE[api]?.();
    this.#holds = holds;
  }

  /** Frames are held: nothing is passed on until `release`. */
  get isHolding(): boolean {
    return this.#held !== undefined;
  }

  /** More is held than a provider sends for tool calls. */
  get isOverfull(): boolean {
    return this.#heldBytes > MAX_HELD_BYTES || (this.#calls?.count ?? 0) > MAX_CALLS;
  }

  /** The provider has finished its answer, so that all calls are known and complete. */
  get isComplete(): boolean {
    return this.#calls?.isComplete === true;
  }

  /** A frame was no JSON for us. Other parsers may read a tool call in it. */
  get isUnread(): boolean {
    return this.#isUnread;
  }

  /** All calls of the answer, in its order. */
  get calls(): readonly AnsweredCall[] {
    return this.#calls?.calls ?? [];
  }

  /** Arguments cannot be changed beside what the provider has signed or encrypted. */
  get isSigned(): boolean {
    return this.#isSigned;
  }

  /** Returns the frame if it may be passed on now. */
  push(frame: ProviderFrame): ProviderFrame | undefined {
    const begun = this.#calls?.read(frame) ?? [];
    this.#isSigned ||= isSignedFrame(frame);
    this.#isUnread ||= isUnreadFrame(frame);
    if (this.#held === undefined && begun.some((name) => this.#holds(name))) this.#held = [];
    if (this.#held === undefined) return frame;
    if (isError(frame)) {
      // The calls will never be complete.
      this.#held = undefined;
      return frame;
    }
    this.#held.push(frame);
    this.#heldBytes += frame.raw.length;
    return undefined;
  }

  /** Returns what was held, changed as decided, and holds nothing more. */
  release(verdicts: ToolVerdicts): readonly Uint8Array[] {
    const held = this.#held ?? [];
    this.#held = undefined;
    this.#heldBytes = 0;
    const isUnchanged = [...verdicts.values()].every(({ kind }) => kind === 'allow');
    if (isUnchanged || this.#calls === undefined) return held.map(({ raw }) => raw);
    return this.#calls.rewrite(held, verdicts);
  }
}

function isError({ data, object }: ProviderFrame): boolean {
  if (data?.includes('"error"') !== true) return false;
  return object?.type === 'error' || (object?.error ?? null) !== null;
}

/** Python's parser takes `NaN`, for example. */
function isUnreadFrame({ data, object }: ProviderFrame): boolean {
  return data !== undefined && object === undefined && looksLikeJson(data);
}

function isSignedFrame({ data, object }: ProviderFrame): boolean {
  if (data === undefined || object === undefined) return false;
  if (data.includes('hought')) return isSigned(object);
  if (!data.includes('"encrypted_content"')) return false;
  return hasEncryptedReasoning({ output: [object.item] });
}
