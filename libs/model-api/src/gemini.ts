import type { ModelApi } from './model-dialect.ts';
import { isJsonObject, type ProviderJson } from './model-usage.ts';
import { requirePrintable, UnreadableObject } from './scan-object.ts';

/** What the address of a Gemini call says instead of its body. */
export interface AddressedModel {
  readonly model: string;
  readonly streamed: boolean;
}

/** A route of Gemini that calls a model. `{model}` in the path stands for the model that is sent. */
export interface GeminiEndpoint {
  readonly api: Extract<ModelApi, 'generate' | 'embed'>;
  readonly path: string;
  readonly addressed: AddressedModel;
}

const METHODS: Readonly<Record<string, { api: GeminiEndpoint['api']; streamed: boolean }>> = {
  generateContent: { api: 'generate', streamed: false },
  streamGenerateContent: { api: 'generate', streamed: true },
  embedContent: { api: 'embed', streamed: false },
  batchEmbedContents: { api: 'embed', streamed: false },
};

const ADDRESS = /^(v1|v1beta|v1alpha)\/models\/([^/:]{1,256}):([A-Za-z]+)$/;

/** @param rest the provider's path, such as `v1beta/models/gemini-3-flash:generateContent` */
export function findGeminiEndpoint(rest: string): GeminiEndpoint | undefined {
  const [, version, model, method = ''] = ADDRESS.exec(rest) ?? [];
  const known = METHODS[method];
  if (known === undefined || model === undefined || model.trim() !== model) return undefined;
  const { api, streamed } = known;
  return { api, path: `/${version}/models/{model}:${method}`, addressed: { model, streamed } };
}

/** The path of `:countTokens`, which costs nothing; undefined for other paths. */
export function findGeminiCount(rest: string): string | undefined {
  const [, version, model, method] = ADDRESS.exec(rest) ?? [];
  return method === 'countTokens' && model !== undefined
    ? `/${version}/models/${encodeURIComponent(model)}:countTokens`
    : undefined;
}

/** Gemini reads the names of members in both spellings. */
const SPELLINGS: Readonly<Record<string, string>> = {
  generationConfig: 'generation_config',
  systemInstruction: 'system_instruction',
  cachedContent: 'cached_content',
};

/** Members of a Gemini body that are parsed. */
export const GEMINI_MEMBERS: readonly string[] = [
  'contents',
  'content',
  'requests',
  ...Object.entries(SPELLINGS).flat(),
];

type Read = (name: string) => unknown;

/** A member in either spelling. @throws UnreadableObject if the body has both, because only one of them counts */
function readEither(read: Read, name: string): unknown {
  const [one, other] = [read(name), read(SPELLINGS[name] ?? name)];
  if (one !== undefined && SPELLINGS[name] !== undefined && other !== undefined) {
    throw new UnreadableObject(`must not be there beside "${SPELLINGS[name]}"`, name);
  }
  return one ?? other;
}

/** The limit of the answer, in tokens. */
export function readGeminiLimit(read: Read): number | undefined {
  return readCount(read, 'maxOutputTokens', 'max_output_tokens');
}

/** How many answers are asked for. */
export function readGeminiAnswers(read: Read): number {
  return Math.max(1, readCount(read, 'candidateCount', 'candidate_count') ?? 1);
}

function readCount(read: Read, name: string, spelling: string): number | undefined {
  const config = readEither(read, 'generationConfig') ?? {};
  if (!isJsonObject(config)) throw new UnreadableObject('must be an object', 'generationConfig');
  const count = config[name] ?? config[spelling] ?? undefined;
  if (count === undefined) return undefined;
  if (typeof count === 'number' && Number.isSafeInteger(count) && count >= 0) return count;
  throw new UnreadableObject(`must have a whole number as ${name}`, 'generationConfig');
}

/** The functions of the client, and what the provider runs itself: each other member of a tool is one. */
export function readGeminiTools(listed: readonly ProviderJson[]): {
  tools: readonly string[];
  serverTools: readonly string[];
} {
  const tools: string[] = [];
  const serverTools: string[] = [];
  for (const tool of listed) {
    for (const [name, value] of Object.entries(tool)) {
      if (name !== 'functionDeclarations' && name !== 'function_declarations') serverTools.push(name);
      else if (Array.isArray(value)) tools.push(...value.map(readFunctionName));
      else throw new UnreadableObject('must list functions by functionDeclarations', 'tools');
    }
  }
  return { tools, serverTools };
}

function readFunctionName(declared: unknown): string {
  const name = isJsonObject(declared) ? declared.name : undefined;
  if (typeof name !== 'string' || name === '') throw new UnreadableObject('must each have a name', 'tools');
  requirePrintable(name, 'tools');
  return name;
}

/**
 * Refuses a body that names another model than the address, and contents that are kept at the provider: all agents of
 * the tenant share its key.
 */
export function requireGeminiBody(read: Read, { model }: AddressedModel): void {
  if ((readEither(read, 'cachedContent') ?? null) !== null) {
    throw new UnreadableObject('is not supported by the gateway: send the contents', 'cachedContent');
  }
  // Refuses a body with both spellings, of which the provider may read either.
  readEither(read, 'systemInstruction');
  const requests = read('requests') ?? [];
  if (!Array.isArray(requests)) throw new UnreadableObject('must be a list', 'requests');
  const inner = requests.map((one: unknown) => (isJsonObject(one) ? one.model : undefined));
  for (const named of [read('model'), ...inner]) {
    if (named === undefined || named === null || named === model || named === `models/${model}`) continue;
    throw new UnreadableObject('must be the model of the address', 'model');
  }
}
