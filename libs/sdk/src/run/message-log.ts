import type { AgentMessage, LlmPart } from '../wire/model.ts';
import { readMessage } from '../wire/model-response.ts';
import { safeJson } from '../wire/safe-json.ts';

interface Remembered {
  readonly content: unknown;
  readonly key: string;
}

/**
 * Distinguishes new messages from recorded ones. Frameworks pass the whole history at each step and may prune it, so a
 * position identifies nothing. A message is identified by role and content; a second equal one counts as new if the
 * history contains it twice.
 */
export class RunMessageLog {
  readonly #seen = new Map<string, number>();
  readonly #keys = new WeakMap<object, Remembered>();

  /** Returns the indexes of messages that were not recorded before, and marks them as recorded. */
  newOnes(messages: readonly AgentMessage[], history: 'full' | 'delta' = 'full'): number[] {
    const here = new Map<string, number>();
    const found: number[] = [];
    messages.forEach((message, index) => {
      const key = this.#keyOf(message);
      const count = (here.get(key) ?? 0) + 1;
      here.set(key, count);
      if (history === 'full' && count <= (this.#seen.get(key) ?? 0)) return;
      this.#seen.set(key, history === 'full' ? count : (this.#seen.get(key) ?? 0) + 1);
      found.push(index);
    });
    return found;
  }

  /** Marks a message as recorded by other means: the model's own answer. */
  remember(message: AgentMessage): void {
    const key = this.#keyOf(message);
    this.#seen.set(key, (this.#seen.get(key) ?? 0) + 1);
  }

  /** An unchanged message object is read only once. */
  #keyOf(message: AgentMessage): string {
    const known = this.#keys.get(message);
    if (known !== undefined && known.content === message.content) return known.key;
    const key = contentKey(readMessage(message));
    this.#keys.set(message, { content: message.content, key });
    return key;
  }
}

/** Text of a message as recorded: text parts as they are, other parts as JSON. */
export function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (Array.isArray(content) && content.length > 0 && content.every(isTextPart))
    return content.map((part) => part.text).join('');
  return safeJson(content);
}

/** Text of a model's answer; a step with only tool calls is represented by its parts. */
export function outputText(content: readonly LlmPart[]): string {
  const text = content
    .filter(isTextPart)
    .map((part) => part.text)
    .join('');
  return text !== '' || content.length === 0 ? text : safeJson(content);
}

function contentKey(message: AgentMessage): string {
  const { content } = message;
  return `${message.role} ${hash53(typeof content === 'string' ? content : keyText(content))}`;
}

/**
 * Text plus the ids of tool calls and results: the same answer looks different in the model's response and in the
 * framework's history, but has the same text and calls.
 */
function keyText(content: unknown): string {
  if (!Array.isArray(content)) return safeJson(content);
  const text = content
    .filter(isTextPart)
    .map((part) => part.text)
    .join('');
  const ids = content.map(callIdOf).filter((id) => id !== undefined);
  if (ids.length > 0) return `${text}\n${ids.join('\n')}`;
  return text === '' ? safeJson(content) : text;
}

function callIdOf(part: unknown): string | undefined {
  if (typeof part !== 'object' || part === null) return undefined;
  const { toolCallId, tool_call_id: snake, callId } = part as Record<string, unknown>;
  const id = toolCallId ?? snake ?? callId;
  return typeof id === 'string' ? id : undefined;
}

function isTextPart(part: unknown): part is { type: 'text'; text: string } {
  if (typeof part !== 'object' || part === null) return false;
  const { type, text } = part as { type?: unknown; text?: unknown };
  return type === 'text' && typeof text === 'string';
}

/** Two mixed 32-bit lanes (cyrb53) and the length. Distinguishes messages of one run; not for security. */
function hash53(text: string): string {
  let first = 0xdeadbeef;
  let second = 0x41c6ce57;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    first = Math.imul(first ^ unit, 2_654_435_761);
    second = Math.imul(second ^ unit, 1_597_334_677);
  }
  first = Math.imul(first ^ (first >>> 16), 2_246_822_507) ^ Math.imul(second ^ (second >>> 13), 3_266_489_909);
  second = Math.imul(second ^ (second >>> 16), 2_246_822_507) ^ Math.imul(first ^ (first >>> 13), 3_266_489_909);
  return `${text.length}-${(4_294_967_296 * (2_097_151 & second) + (first >>> 0)).toString(36)}`;
}
