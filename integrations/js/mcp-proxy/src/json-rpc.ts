import { onOneLine, parseStrict } from './strict-json.ts';

export type Id = string | number;

export interface Message {
  readonly jsonrpc: '2.0';
  readonly id?: Id | null;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: Readonly<Record<string, unknown>>;
}

export interface Request extends Message {
  readonly id: Id;
  readonly method: string;
}

/** A tool call as a client asks for it. */
export interface ToolCallRequest extends Request {
  readonly params: {
    readonly name: string;
    readonly arguments?: unknown;
    readonly _meta?: { readonly progressToken?: Id };
    readonly [field: string]: unknown;
  };
}

/** One message of a line or body, or the JSON-RPC error that refuses it. */
export type ReadMessage =
  | { readonly message: Message; readonly refusal?: undefined }
  | { readonly message?: undefined; readonly refusal: Message };

/** A message of a server, and its text where that says nothing else. */
export interface ServerMessage {
  readonly message: Message;
  readonly text: string;
}

const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
const INVALID_PARAMS = -32_602;
/** The application's own range of JSON-RPC. */
const REFUSED = -32_000;
const ENVELOPE = new Set(['jsonrpc', 'id', 'method', 'params', 'result', 'error']);
/** Readers that ignore case, as Go's does, must not find another value under a variant of these. */
const PARAMETERS = new Set(['name', 'arguments', '_meta', 'uri', 'ref', 'argument', 'context', 'cursor', 'task']);

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The messages of a client's line or body. Anything but plain JSON-RPC 2.0 is refused. */
export function clientMessagesOf(text: string): readonly ReadMessage[] {
  const parsed = parseStrict(text);
  if (parsed.problem !== undefined) return [refused(null, PARSE_ERROR, parsed.problem)];
  const { value } = parsed;
  if (!Array.isArray(value)) return [messageOf(value)];
  return value.length === 0 ? [refused(null, INVALID_REQUEST, 'an empty batch')] : value.map(messageOf);
}

/** The messages of a server's line, body or event; undefined for what is not JSON-RPC. */
export function serverMessagesOf(text: string): readonly ServerMessage[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const all = Array.isArray(value) ? value : [value];
  const read = all.map(serverMessageOf);
  const messages = read.filter((message) => message !== undefined);
  if (messages.length !== all.length) return undefined;
  // Numbers that JavaScript cannot hold stay as the server wrote them, if the text says one thing only.
  const asWritten =
    !Array.isArray(value) && isRecord(value) && hasNoOther(value) && parseStrict(text).value !== undefined;
  return messages.map((message) => ({ message, text: asWritten ? onOneLine(text) : writeMessage(message) }));
}

/** A message as one line without its end, from what was parsed. */
export function writeMessage(message: Message): string {
  return onOneLine(JSON.stringify(message));
}

export function isRequest(message: Message): message is Request {
  return message.method !== undefined && isId(message.id);
}

export function isToolCall(message: Message): message is ToolCallRequest {
  return isRequest(message) && message.method === 'tools/call' && typeof message.params?.name === 'string';
}

export function isId(id: unknown): id is Id {
  return typeof id === 'string' || Number.isSafeInteger(id);
}

/** A refused call, as a tool's result: clients show it to the model, but hide errors of the protocol from it. */
export function refusalOf(id: Id, text: string): Message {
  // Required since the protocol of 2026-07-28, ignored by older clients.
  const result = { resultType: 'complete', content: [{ type: 'text', text }], isError: true };
  return { jsonrpc: '2.0', id, result };
}

export function errorOf(id: Id | null, message: string, code = REFUSED): Message {
  return { jsonrpc: '2.0', id, error: { code, message } };
}

export function invalid(id: Id | null, why: string): Message {
  return errorOf(id, `AgentLens did not forward this message: ${why}`, INVALID_REQUEST);
}

function refused(id: Id | null, code: number, why: string): ReadMessage {
  return { refusal: errorOf(id, `AgentLens did not forward this message: ${why}`, code) };
}

function messageOf(value: unknown): ReadMessage {
  if (!isRecord(value)) return refused(null, INVALID_REQUEST, 'a message is an object');
  const id = isId(value.id) ? value.id : null;
  const problem = problemOf(value);
  if (problem !== undefined) return refused(id, INVALID_REQUEST, problem);
  const inParams = paramsProblem(value);
  if (inParams !== undefined) return refused(id, INVALID_PARAMS, inParams);
  return { message: value as unknown as Message };
}

function serverMessageOf(value: unknown): Message | undefined {
  if (!isRecord(value)) return undefined;
  const known = Object.fromEntries(Object.entries(value).filter(([key]) => ENVELOPE.has(key)));
  // A server answers what it could not read with an error that has no id.
  if (
    isRecord(known.error) &&
    (known.id === null || known.id === undefined) &&
    !('method' in known || 'result' in known)
  )
    return known as unknown as Message;
  const isNotification = typeof known.method === 'string' && !('id' in known);
  const problem = isNotification ? undefined : problemOf(known);
  return problem === undefined && (known.params === undefined || isRecord(known.params))
    ? (known as unknown as Message)
    : undefined;
}

function hasNoOther(value: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(value).every((key) => ENVELOPE.has(key));
}

function problemOf(value: Readonly<Record<string, unknown>>): string | undefined {
  const other = Object.keys(value).find((key) => !ENVELOPE.has(key));
  if (other !== undefined) return `JSON-RPC has no member ${JSON.stringify(other.slice(0, 100))}`;
  if (value.jsonrpc !== '2.0') return 'jsonrpc must be "2.0"';
  if ('id' in value && !isId(value.id)) return 'id must be a string or an integer';
  if (!('method' in value)) {
    if (!('id' in value)) return 'a message has a method or an id';
    if ('params' in value) return 'a response has no params';
    if ('result' in value === 'error' in value) return 'a response has either result or error';
    return isRecord(value.result ?? value.error) ? undefined : 'result and error are objects';
  }
  if (typeof value.method !== 'string' || value.method === '') return 'method must be text';
  if ('result' in value || 'error' in value) return 'a request has neither result nor error';
  if ('params' in value && !isRecord(value.params)) return 'params must be an object';
  if (!('id' in value) && !value.method.startsWith('notifications/')) return `${value.method} needs an id`;
  return undefined;
}

function paramsProblem({ method, params }: Readonly<Record<string, unknown>>): string | undefined {
  if (isRecord(params)) {
    const variant = Object.keys(params).find((key) => fold(key) !== key && PARAMETERS.has(fold(key)));
    if (variant !== undefined)
      return `params has ${JSON.stringify(variant)}, which some servers read as ${fold(variant)}`;
  }
  if (method !== 'tools/call') return undefined;
  if (!isRecord(params) || typeof params.name !== 'string') return 'tools/call needs params.name as text';
  const args = params.arguments;
  return args === undefined || args === null || isRecord(args) ? undefined : 'arguments must be an object';
}

/** As readers compare that ignore case; the two letters with a second lower-case form included. */
function fold(key: string): string {
  return key.toUpperCase().toLowerCase();
}
