import {
  canonicalProvider,
  cleanName,
  type JsonObject,
  type PriceBook,
  pricedUsage,
  type Usage,
} from '@agentlens/contracts';
import { firstText, firstValue, isObject, objectAt, present, unpacked } from './attributes.ts';
import { type ContentMode, contentOf } from './messages.ts';
import type { Attributes, OtlpSpan } from './span.ts';
import { countsCachedBeside, type Tokens, tokensOf } from './tokens.ts';
import { ownNameOf, serviceName } from './who.ts';

const MODEL = [
  'gen_ai.response.model',
  'ai.response.model',
  'llm.response.model_name',
  'llm.model_name',
  'embedding.model_name',
  'gen_ai.request.model',
  'ai.model.id',
  'llm.request.model_name',
  'llm.request.model',
];
const REQUESTED_MODEL = ['gen_ai.request.model', 'ai.model.id', 'llm.request.model_name', 'llm.request.model'];
const PROVIDER = ['gen_ai.provider.name', 'gen_ai.system', 'llm.provider', 'llm.system', 'ai.model.provider'];
const RESPONSE_ID = ['gen_ai.response.id', 'ai.response.id', 'llm.response.id'];
/** The tier that served the call. The requested one may have been full. */
const SERVICE_TIER = [
  'openai.response.service_tier',
  'gen_ai.openai.response.service_tier',
  'gen_ai.response.service_tier',
];
const FINISH_REASON = ['gen_ai.response.finish_reasons', 'ai.response.finishReason', 'llm.finish_reason'];
/** Attributes of each parameter, and its names inside `llm.invocation_parameters`. */
const PARAMETERS: Readonly<Record<string, readonly string[]>> = {
  temperature: ['gen_ai.request.temperature', 'ai.settings.temperature', 'llm.request.temperature', 'temperature'],
  topP: ['gen_ai.request.top_p', 'ai.settings.topP', 'top_p'],
  maxTokens: [
    ...['gen_ai.request.max_tokens', 'ai.settings.maxOutputTokens', 'ai.settings.maxTokens'],
    ...['max_tokens', 'max_completion_tokens', 'max_output_tokens'],
  ],
  seed: ['gen_ai.request.seed', 'ai.settings.seed', 'seed'],
};

/** Frameworks that report themselves as the provider. */
const NO_PROVIDERS: ReadonlySet<string> = new Set([
  'langchain',
  'langgraph',
  'crewai',
  'autogen',
  'strands-agents',
  'microsoft',
  'mastra',
  'gateway',
]);

/** Fields that a model call or an embedding adds to its event. */
interface OtlpModelCall {
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly usage: Usage;
  readonly payload: JsonObject;
  readonly repaired: readonly string[];
}

/**
 * Returns the provider's id of the response, the only thing that two instrumentations of one call share. Undefined if
 * the call failed or the instrumentation does not report it.
 */
function responseIdOf({ attributes }: OtlpSpan): string | undefined {
  const reported = firstText(attributes, RESPONSE_ID);
  if (reported !== undefined) return reported;
  const output = unpacked(attributes.get('output.value'));
  if (!isObject(output)) return undefined;
  if (typeof output.id === 'string' && output.id !== '') return output.id;
  return inGenerations(output);
}

/** LangChain's format of a response: `{generations: [[{message: {kwargs: {response_metadata: {id}}}}]]}`. */
function inGenerations({ generations }: JsonObject): string | undefined {
  const first: unknown = Array.isArray(generations) ? generations.flat(1)[0] : undefined;
  const message = isObject(first) && isObject(first.message) ? first.message : {};
  const fields = isObject(message.kwargs) ? message.kwargs : message;
  const metadata = isObject(fields.response_metadata) ? fields.response_metadata : {};
  return typeof metadata.id === 'string' && metadata.id !== '' ? metadata.id : undefined;
}

/** What deduplication and translation of a model call both need. */
export interface ReadCall {
  readonly model: string | undefined;
  readonly responseId: string | undefined;
  readonly tokens: Tokens;
}

export function readCall(span: OtlpSpan): ReadCall {
  const model = nameIn(span.attributes, MODEL);
  return { model, responseId: responseIdOf(span), tokens: tokensOf(span.attributes, countsCachedBeside(span, model)) };
}

export function modelCallOf(span: OtlpSpan, call: ReadCall, prices: PriceBook, content: ContentMode): OtlpModelCall {
  const { attributes, durationMs, endMs, spanId } = span;
  const { model, tokens, responseId } = call;
  const provider = model === undefined ? undefined : (providerOf(span) ?? prices.providerOf(model) ?? 'unknown');
  const requested = nameIn(attributes, REQUESTED_MODEL);
  const agentName = ownNameOf(attributes);
  const serviceTier = nameIn(attributes, SERVICE_TIER) ?? tokens.serviceTier;
  return {
    model,
    provider,
    usage: { ...pricedOf(tokens, { model, provider, serviceTier, atMs: endMs }, prices), latencyMs: durationMs },
    payload: present({
      callId: spanId,
      agentName,
      model,
      requestedModel: requested === model ? undefined : requested,
      serviceTier,
      finishReason: finishReasonOf(attributes),
      responseId,
      parameters: parametersOf(attributes),
      usage: tokens.usage === undefined ? undefined : present({ ...tokens.usage, sentTotal: tokens.sentTotal }),
      latencyMs: durationMs,
      timeToFirstTokenMs: firstTokenMs(span),
      ...contentOf(span, content),
    }),
    repaired: tokens.repaired ? ['cached tokens were beside the input tokens and were added to them'] : [],
  };
}

interface Priced {
  readonly model: string | undefined;
  readonly provider: string | undefined;
  readonly serviceTier: string | undefined;
  readonly atMs: number;
}

function pricedOf(tokens: Tokens, { serviceTier, ...call }: Priced, prices: PriceBook): Usage {
  const { costUsd, sentTotal } = tokens;
  const usage = { ...tokens.usage, ...(serviceTier === undefined ? {} : { serviceTier: serviceTier.slice(0, 100) }) };
  // The conventions define the input tokens with the cached tokens in them; `tokensOf` corrects sources that differ.
  return pricedUsage(costUsd, { ...call, usage, cachedInside: true, sentTotal }, prices);
}

/** Returns undefined if the attribute names a framework or the service itself. */
function providerOf({ attributes, resource }: OtlpSpan): string | undefined {
  const service = serviceName(resource.attributes).toLowerCase();
  for (const name of PROVIDER) {
    const sent = nameIn(attributes, [name])?.toLowerCase();
    const provider = sent === undefined ? undefined : hostIn(sent);
    if (sent !== undefined && provider && sent !== service && !NO_PROVIDERS.has(provider)) return provider;
  }
  return undefined;
}

/**
 * The AI SDK adds the API to the provider: `openai.chat`. Names of Google and IBM begin with the company, which has
 * several services with prices of their own.
 */
function hostIn(name: string): string {
  const [first = ''] = name.split('.', 1);
  return COMPANIES.has(first) && first !== name ? canonicalProvider(name) : first;
}

const COMPANIES: ReadonlySet<string> = new Set(['gcp', 'google', 'ibm', 'x', 'az']);

function nameIn(attributes: Attributes, names: readonly string[]): string | undefined {
  const text = firstText(attributes, names);
  const clean = text === undefined ? '' : cleanName(text);
  return clean === '' ? undefined : clean;
}

function finishReasonOf(attributes: Attributes): string | undefined {
  const value = unpacked(firstValue(attributes, FINISH_REASON));
  const reason: unknown = Array.isArray(value) ? value[0] : value;
  return typeof reason === 'string' ? reason : undefined;
}

function parametersOf(attributes: Attributes): JsonObject | undefined {
  const invocation = new Map(Object.entries(objectAt(attributes, 'llm.invocation_parameters')));
  const parameters = present(
    Object.fromEntries(
      Object.entries(PARAMETERS).map(([name, from]) => [
        name,
        firstValue(attributes, from) ?? firstValue(invocation, from),
      ]),
    ),
  );
  return Object.keys(parameters).length === 0 ? undefined : parameters;
}

/** The conventions use seconds. The AI SDK uses milliseconds, and so does Strands under the conventions' name. */
function firstTokenMs({ attributes, durationMs }: OtlpSpan): number | undefined {
  const sent = firstValue(attributes, [
    'gen_ai.client.operation.time_to_first_chunk',
    'gen_ai.response.time_to_first_chunk',
    'gen_ai.server.time_to_first_token',
  ]);
  const ms = sent === undefined ? firstValue(attributes, ['ai.response.msToFirstChunk']) : sent;
  if (typeof ms !== 'number') return undefined;
  return sent !== undefined && ms * 1000 <= durationMs ? ms * 1000 : ms;
}
