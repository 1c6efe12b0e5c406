import { canonicalJson, type JsonObject, sha256Hex } from '@agentlens/contracts';
import { isObject, present, unpacked } from './attributes.ts';
import type { Attributes, OtlpSpan } from './span.ts';

/** How much of a conversation is kept: its newest part, all of it, or nothing. */
const CONTENT_MODES = ['last', 'all', 'none'] as const;
export type ContentMode = (typeof CONTENT_MODES)[number];

/** Messages of one model call. */
interface Conversation {
  /** Oldest first, in the source's format. */
  readonly input: readonly unknown[];
  readonly output: readonly unknown[];
  readonly system: unknown;
}

const MAX_MESSAGES = 1_000;

/**
 * Where each vocabulary keeps its messages: a list (possibly as JSON text), or one attribute per part of each message.
 */
const INPUT_LISTS = ['gen_ai.input.messages', 'ai.prompt.messages', 'gen_ai.prompt', 'ai.prompt'];
const INPUT_PARTS = ['gen_ai.prompt.', 'llm.input_messages.', 'llm.prompts.'];
const OUTPUT_LISTS = ['gen_ai.output.messages', 'gen_ai.completion'];
const OUTPUT_PARTS = ['gen_ai.completion.', 'llm.output_messages.'];
const SYSTEM = 'gen_ai.system_instructions';
const DETAILS_EVENT = 'gen_ai.client.inference.operation.details';
const MESSAGE_EVENT = /^gen_ai\.(system|user|assistant|tool)\.message$/;

function conversationOf({ attributes, events }: OtlpSpan): Conversation {
  const details = events.find(({ name }) => name === DETAILS_EVENT)?.attributes ?? new Map<string, unknown>();
  return {
    input: firstMessages([
      () => listed(attributes, INPUT_LISTS),
      () => listed(details, INPUT_LISTS),
      () => inParts(attributes, INPUT_PARTS),
      () => inEvents(events, (name) => MESSAGE_EVENT.exec(name)?.[1]),
    ]),
    output: firstMessages([
      () => listed(attributes, OUTPUT_LISTS),
      () => listed(details, OUTPUT_LISTS),
      () => inParts(attributes, OUTPUT_PARTS),
      () => inEvents(events, (name) => (name === 'gen_ai.choice' ? 'assistant' : undefined)),
      () => aiSdkAnswer(attributes),
    ]),
    system: unpacked(attributes.get(SYSTEM)),
  };
}

/**
 * Returns the payload members for the messages: `messages`, `earlierMessages`, `systemPrompt`, `completion`, `output`.
 */
export function contentOf(span: OtlpSpan, mode: ContentMode): JsonObject {
  if (mode === 'none') return {};
  const { input, output, system } = conversationOf(span);
  const kept = mode === 'all' ? input : newest(input);
  const left = input.slice(0, input.length - kept.length);
  const completion = output.map(textOf).filter((text) => text !== '');
  return present({
    messages: kept.length === 0 ? undefined : kept,
    earlierMessages: left.length === 0 ? undefined : { count: left.length, sha256: sha256Hex(canonicalJson(left)) },
    systemPrompt: mode === 'all' ? system : undefined,
    completion: completion.length === 0 ? undefined : completion.join('\n'),
    output: output.length > completion.length || mode === 'all' ? nonEmpty(output) : undefined,
  });
}

/**
 * Returns the new messages of a call, because every call repeats the whole conversation: the newest tool results, or
 * the last user message and everything after it.
 */
function newest(messages: readonly unknown[]): readonly unknown[] {
  const beforeTools = messages.findLastIndex((message) => roleOf(message) !== 'tool');
  if (beforeTools < messages.length - 1) return messages.slice(beforeTools + 1);
  const fromUser = messages.findLastIndex((message) => roleOf(message) === 'user');
  return messages.slice(fromUser < 0 ? -1 : fromUser);
}

function firstMessages(sources: readonly (() => readonly unknown[])[]): readonly unknown[] {
  for (const read of sources) {
    const messages = read();
    if (messages.length > 0) return messages.slice(0, MAX_MESSAGES);
  }
  return [];
}

function listed(attributes: Attributes, names: readonly string[]): readonly unknown[] {
  for (const name of names) {
    const value = unpacked(attributes.get(name));
    const inside = isObject(value) && Array.isArray(value.messages) ? value.messages : value;
    if (Array.isArray(inside)) return inside;
    if (isObject(inside)) return [inside];
    if (typeof inside === 'string' && inside !== '') return [{ content: inside }];
  }
  return [];
}

/** Collects attributes such as `<prefix>0.message.role` into a list of messages. */
function inParts(attributes: Attributes, prefixes: readonly string[]): readonly unknown[] {
  const messages: JsonObject[] = [];
  for (const [name, value] of attributes) {
    const prefix = prefixes.find((start) => name.startsWith(start));
    const [index = '', ...path] = prefix === undefined ? [] : name.slice(prefix.length).split('.');
    if (!/^\d{1,3}$/.test(index) || path.length === 0) continue;
    const message = messages[Number(index)] ?? {};
    messages[Number(index)] = message;
    message[path.filter((part, place) => part !== 'message' || place > 0).join('.')] = value;
  }
  return messages.filter((message) => message !== undefined);
}

function inEvents(events: OtlpSpan['events'], roleOfEvent: (name: string) => string | undefined): readonly unknown[] {
  return events.flatMap(({ name, attributes }) => {
    const role = roleOfEvent(name);
    if (role === undefined) return [];
    const content = unpacked(attributes.get('content') ?? attributes.get('message') ?? attributes.get('body'));
    return [present({ role, content, id: attributes.get('id') })];
  });
}

function aiSdkAnswer(attributes: Attributes): readonly unknown[] {
  const content = attributes.get('ai.response.text') ?? unpacked(attributes.get('ai.response.object'));
  const toolCalls = unpacked(attributes.get('ai.response.toolCalls'));
  const answer = present({ content, toolCalls });
  return Object.keys(answer).length === 0 ? [] : [{ role: 'assistant', ...answer }];
}

function roleOf(message: unknown): unknown {
  return isObject(message) ? message.role : undefined;
}

/** Returns the text of a message in any nesting; empty if it has none. */
function textOf(message: unknown): string {
  if (typeof message === 'string') return message;
  if (!isObject(message)) return '';
  const content = message.parts ?? message.content ?? message.text;
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map(textOf).join('');
}

function nonEmpty(list: readonly unknown[]): readonly unknown[] | undefined {
  return list.length === 0 ? undefined : list;
}
