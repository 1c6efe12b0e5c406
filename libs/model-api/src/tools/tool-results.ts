import type { ModelApi } from '../model-dialect.ts';
import { isJsonObject, type ProviderJson } from '../model-usage.ts';
import { readMember, type ScannedObject, UnreadableObject } from '../scan-object.ts';
import { listObjects, parseArgs, readString } from './tool-call.ts';

/** What a tool returned, as the next request tells the model. */
export interface ToolResult {
  readonly callId: string;
  /** Undefined if the request does not repeat the call. */
  readonly call: { readonly name: string; readonly args: unknown } | undefined;
  readonly result: unknown;
}

/** More than an answer calls. */
const MAX_RESULTS = 256;

/** The member with the conversation, and what every body with results contains. */
const PLACES: Readonly<Partial<Record<ModelApi, readonly [member: string, word: string]>>> = {
  messages: ['messages', 'tool_result'],
  chat: ['messages', '"tool"'],
  responses: ['input', '_output"'],
  generate: ['contents', 'unction'],
};

/**
 * Reads the results that are new in a request: those after the last answer of the model. Bodies without results are not
 * parsed.
 *
 * @throws UnreadableObject if there are more than any answer can have asked for
 */
export function readToolResults(api: ModelApi, bytes: Uint8Array, scanned: ScannedObject): readonly ToolResult[] {
  const place = PLACES[api];
  if (place === undefined) return [];
  const [member, word] = place;
  const found = scanned.members.get(member);
  if (found === undefined || !Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(word)) return [];
  const results = READ[api]?.(listObjects(readMember(bytes, scanned, member))) ?? [];
  if (results.length <= MAX_RESULTS) return results;
  throw new UnreadableObject(`must have at most ${MAX_RESULTS} new tool results`, member);
}

const READ: Readonly<Partial<Record<ModelApi, (conversation: readonly ProviderJson[]) => ToolResult[]>>> = {
  messages: readMessages,
  chat: readChat,
  responses: readItems,
  generate: readContents,
};

type Call = NonNullable<ToolResult['call']>;

/** What follows the last answer of the model. */
function findNew(conversation: readonly ProviderJson[], isAnswer: (entry: ProviderJson) => boolean) {
  return conversation.slice(conversation.findLastIndex(isAnswer) + 1);
}

function readMessages(messages: readonly ProviderJson[]): ToolResult[] {
  const calls = new Map<unknown, Call>();
  for (const block of messages.flatMap(({ content }) => listObjects(content))) {
    if (block.type === 'tool_use') calls.set(block.id, { name: readString(block.name) ?? '', args: block.input ?? {} });
  }
  return findNew(messages, ({ role }) => role === 'assistant')
    .flatMap(({ content }) => listObjects(content))
    .flatMap(({ type, tool_use_id: id, content }) =>
      type === 'tool_result' ? toResult(id, calls.get(id), joinTexts(content)) : [],
    );
}

function readChat(messages: readonly ProviderJson[]): ToolResult[] {
  const calls = new Map<unknown, Call>();
  for (const entry of messages.flatMap(({ tool_calls: listed }) => listObjects(listed))) {
    const { custom, function: called } = entry;
    if (isJsonObject(custom)) calls.set(entry.id, { name: readString(custom.name) ?? '', args: custom.input });
    else if (isJsonObject(called)) calls.set(entry.id, readFunction(called));
  }
  return findNew(messages, ({ role }) => role === 'assistant').flatMap(({ role, tool_call_id: id, content }) =>
    role === 'tool' ? toResult(id, calls.get(id), joinTexts(content)) : [],
  );
}

/** Items of an answer and their results may alternate, so that only a message separates answers. */
function readItems(items: readonly ProviderJson[]): ToolResult[] {
  const calls = new Map<unknown, Call>();
  for (const item of items) {
    if (item.type === 'function_call') calls.set(item.call_id, readFunction(item));
    else if (String(item.type).endsWith('_call')) {
      const args = item.input ?? item.action ?? item.operation;
      calls.set(item.call_id, { name: readString(item.name) ?? String(item.type).replace(/_call$/, ''), args });
    }
  }
  return findNew(items, ({ type = 'message' }) => type === 'message').flatMap(({ type, call_id: id, output }) =>
    String(type).endsWith('_output') ? toResult(id, calls.get(id), joinTexts(output)) : [],
  );
}

/** Gemini may give calls no id; the first call of the same name is then the one. */
function readContents(contents: readonly ProviderJson[]): ToolResult[] {
  const parts = contents.flatMap((content) => listObjects(content.parts));
  const called = parts.flatMap(({ functionCall, function_call: other }) => {
    const call = functionCall ?? other;
    return isJsonObject(call) ? [call] : [];
  });
  const fresh = findNew(contents, ({ role }) => role === 'model').flatMap((content) => listObjects(content.parts));
  return fresh.flatMap(({ functionResponse, function_response: other }) => {
    const told = functionResponse ?? other;
    if (!isJsonObject(told)) return [];
    const { id, name, response } = told;
    const call = called.findLast((one) => (readString(id) === undefined ? one.name === name : one.id === id));
    const found = { name: readString(name) ?? '', args: call?.args ?? {} };
    return toResult(readString(id) ?? readString(name), found, response);
  });
}

function readFunction({ name, arguments: text }: ProviderJson): Call {
  return { name: readString(name) ?? '', args: typeof text === 'string' ? parseArgs(text) : {} };
}

function toResult(id: unknown, call: Call | undefined, result: unknown): ToolResult[] {
  const callId = readString(id);
  return callId === undefined ? [] : [{ callId, call, result: result ?? null }];
}

/** A list of texts reads like one text. */
function joinTexts(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  const texts = listObjects(content).map(({ text }) => text);
  const isText = texts.length === content.length && texts.every((text) => typeof text === 'string');
  return isText ? texts.join('\n') : content;
}
