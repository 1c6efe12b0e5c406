import {
  type AddressedModel,
  GEMINI_MEMBERS,
  readGeminiAnswers,
  readGeminiLimit,
  readGeminiTools,
  requireGeminiBody,
} from './gemini.ts';
import type { ModelApi, ModelRequest } from './model-dialect.ts';
import { isJsonObject, type ProviderJson } from './model-usage.ts';
import { readMember, requirePrintable, type ScannedObject, scanObject, UnreadableObject } from './scan-object.ts';

/** A request body that was read strictly: what it asks for, and where its members are. */
export interface ReadModelRequest {
  readonly request: ModelRequest;
  readonly scanned: ScannedObject;
  /** The earlier answer that the request continues, which is kept at the provider. */
  readonly previousResponseId: string | undefined;
  /** A stream of chat completions reports its usage only if the client asks for it. */
  readonly lacksStreamUsage: boolean;
  /** What the client asks for instead. */
  readonly streamOptions: ProviderJson | undefined;
}

/** Members that are parsed. A duplicate key anywhere inside them could mean another thing to the provider. */
const READ = new Set([
  'model',
  'stream',
  'max_tokens',
  'max_completion_tokens',
  'tools',
  'functions',
  'stream_options',
  'max_output_tokens',
  'n',
  'previous_response_id',
  'background',
  'conversation',
  'prompt',
  'service_tier',
  ...GEMINI_MEMBERS,
]);

const MAX_TOOLS = 1_000;
/** Rules read all names, so that they have to fit into a question. */
const MAX_TOOL_NAMES_BYTES = 128 * 1024;
const MAX_MODEL_CHARS = 256;
/** Estimate of text. Languages differ; too many tokens only reserve too much. */
const BYTES_PER_TOKEN = 3;
/** Estimate of an image of ordinary size. */
const TOKENS_PER_ATTACHMENT = 2_500;

/**
 * @param addressed what the address says of the model, for Gemini
 * @throws UnreadableObject that names the member
 */
export function readModelRequest(api: ModelApi, bytes: Uint8Array, addressed?: AddressedModel): ReadModelRequest {
  const scanned = scanObject(bytes, READ);
  const read = (name: string) => readMember(bytes, scanned, name);
  const { tools, serverTools } = readTools(api, read, scanned);
  if (addressed !== undefined) requireGeminiBody(read, addressed);
  const serviceTier = addressed === undefined ? readText(read, 'service_tier') : undefined;
  const streamed = addressed === undefined ? readFlag(read, 'stream') : addressed.streamed;
  const request: ModelRequest = {
    model: readModel(addressed === undefined ? read('model') : addressed.model),
    streamed,
    maxTokens: readLimit(api, read),
    answers: readAnswers(api, read),
    tools,
    serverTools,
    inputTokens: Math.ceil(scanned.textBytes / BYTES_PER_TOKEN) + scanned.encodedStrings * TOKENS_PER_ATTACHMENT,
    attachments: scanned.encodedStrings,
    ...(serviceTier === undefined ? {} : { serviceTier }),
  };
  refuseKeptState(api, read);
  const previousResponseId = api === 'responses' ? readText(read, 'previous_response_id') : undefined;
  const streamOptions = api === 'chat' ? readStreamOptions(read) : undefined;
  return {
    request,
    scanned,
    previousResponseId,
    lacksStreamUsage: api === 'chat' && streamed && streamOptions?.include_usage !== true,
    streamOptions,
  };
}

/** The largest answer, in tokens. An embedding has none. */
function readLimit(api: ModelApi, read: Read): number | undefined {
  if (api === 'embeddings' || api === 'embed') return 0;
  if (api === 'generate') return readGeminiLimit(read);
  // Providers ignore the members of other APIs, and servers differ in which of the two of a chat they know.
  const limits = LIMITS[api].map((name) => readCount(read, name)).filter((limit) => limit !== undefined);
  return limits.length === 0 ? undefined : Math.max(...limits);
}

const LIMITS = {
  messages: ['max_tokens'],
  chat: ['max_completion_tokens', 'max_tokens'],
  responses: ['max_output_tokens'],
} as const;

function readAnswers(api: ModelApi, read: Read): number {
  if (api === 'generate') return readGeminiAnswers(read);
  return Math.max(1, (api === 'chat' ? readCount(read, 'n') : undefined) ?? 1);
}

type Read = (name: string) => unknown;

/** What is kept at the provider has no owner there: all agents of the tenant share its key. */
function refuseKeptState(api: ModelApi, read: Read): void {
  if (api !== 'responses') return;
  if ((read('conversation') ?? null) !== null) {
    throw new UnreadableObject(
      'is not supported by the gateway: send the messages, or previous_response_id',
      'conversation',
    );
  }
  // It holds a model, tools and limits that no rule could read.
  if ((read('prompt') ?? null) !== null) {
    throw new UnreadableObject('is not supported by the gateway: send instructions and tools', 'prompt');
  }
  if (readFlag(read, 'background')) {
    throw new UnreadableObject('is not supported by the gateway: use a stream', 'background');
  }
}

function readText(read: Read, name: string): string | undefined {
  const value = read(name) ?? undefined;
  if (value === undefined || (typeof value === 'string' && value !== '')) return value;
  throw new UnreadableObject('must be a text', name);
}

function readModel(model: unknown): string {
  if (typeof model !== 'string' || model === '') throw new UnreadableObject('must be the name of a model', 'model');
  requirePrintable(model, 'model');
  if (model.length > MAX_MODEL_CHARS || model.trim() !== model) {
    throw new UnreadableObject(`must be at most ${MAX_MODEL_CHARS} characters, without spaces around it`, 'model');
  }
  return model;
}

function readFlag(read: Read, name: string): boolean {
  const value = read(name) ?? false;
  if (typeof value !== 'boolean') throw new UnreadableObject('must be true or false', name);
  return value;
}

function readCount(read: Read, name: string): number | undefined {
  const value = read(name) ?? undefined;
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new UnreadableObject('must be a whole number', name);
}

function readList(read: Read, name: string): readonly ProviderJson[] {
  const list = read(name) ?? [];
  if (!Array.isArray(list)) throw new UnreadableObject('must be a list', name);
  if (list.length > MAX_TOOLS) throw new UnreadableObject(`must have at most ${MAX_TOOLS} entries`, name);
  return list.map((entry: unknown) => {
    if (isJsonObject(entry)) return entry;
    throw new UnreadableObject('must be a list of objects', name);
  });
}

interface NamedTools {
  readonly tools: readonly string[];
  readonly serverTools: readonly string[];
}

function readTools(api: ModelApi, read: Read, scanned: ScannedObject): NamedTools {
  const named = listTools(api, read, scanned);
  if (new TextEncoder().encode(JSON.stringify(named)).length <= MAX_TOOL_NAMES_BYTES) return named;
  throw new UnreadableObject(`must have names of at most ${MAX_TOOL_NAMES_BYTES / 1024} KiB together`, 'tools');
}

function listTools(api: ModelApi, read: Read, scanned: ScannedObject): NamedTools {
  if (api === 'messages') return readAnthropicTools(read);
  if (api === 'generate') return readGeminiTools(readList(read, 'tools'));
  if (api === 'embeddings' || api === 'embed') return { tools: [], serverTools: [] };
  return api === 'chat' ? readChatTools(read, scanned) : readResponsesTools(read);
}

/** Tools of Responses that run where the client runs. */
const RESPONSES_CLIENT_TYPES = /^(function|custom|local_shell|shell|apply_patch|computer.*|namespace|tool_search)$/;

function readResponsesTools(read: Read): NamedTools {
  const listed = readList(read, 'tools');
  const isClientTool = ({ type }: ProviderJson) => typeof type === 'string' && RESPONSES_CLIENT_TYPES.test(type);
  const nameTool = ({ name, type, server_label: label }: ProviderJson) =>
    type === 'mcp' ? `mcp:${readName(label)}` : readName(name ?? type);
  return {
    tools: listed.filter(isClientTool).map(nameTool),
    serverTools: listed.filter((tool) => !isClientTool(tool)).map(nameTool),
  };
}

/** Tools of Anthropic that run where the client runs, although they have a type of their own. */
const CLIENT_TYPES = /^(custom$|bash_|text_editor_|computer_|memory_)/;

function readAnthropicTools(read: Read): NamedTools {
  const listed = readList(read, 'tools');
  const isServerTool = ({ type }: ProviderJson) => typeof type === 'string' && !CLIENT_TYPES.test(type);
  return {
    tools: listed.filter((tool) => !isServerTool(tool)).map(({ name }) => readName(name)),
    serverTools: [
      ...listed.filter(isServerTool).map(({ name, type }) => readName(name ?? type)),
      ...readList(read, 'mcp_servers').map(({ name }) => `mcp:${readName(name)}`),
    ],
  };
}

function readChatTools(read: Read, { members }: ScannedObject): NamedTools {
  const named = readList(read, 'tools').map((tool) => {
    const { type } = tool;
    const inner = typeof type === 'string' ? tool[type] : undefined;
    return readName(isJsonObject(inner) ? inner.name : type);
  });
  return {
    tools: [...named, ...readList(read, 'functions').map(({ name }) => readName(name))],
    serverTools: members.has('web_search_options') ? ['web_search'] : [],
  };
}

function readName(name: unknown): string {
  if (typeof name === 'string' && name !== '') {
    requirePrintable(name, 'tools');
    return name;
  }
  throw new UnreadableObject('must each have a name', 'tools');
}

function readStreamOptions(read: Read): ProviderJson | undefined {
  const options = read('stream_options') ?? undefined;
  if (options === undefined || isJsonObject(options)) return options;
  throw new UnreadableObject('must be an object', 'stream_options');
}
