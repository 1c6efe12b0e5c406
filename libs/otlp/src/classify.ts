import type { Attributes } from './span.ts';

/** Kind of a span. A `step` is part of a framework's own flow; `foreign` spans are unrelated to models. */
export type SpanClass =
  | 'registration'
  | 'model_call'
  | 'embedding'
  | 'tool_call'
  | 'agent'
  | 'kept_step'
  | 'step'
  | 'foreign';

/** Vocabulary of a span. */
export type Generation = 'gen_ai' | 'openinference' | 'ai_sdk' | 'openllmetry' | 'langsmith' | 'mcp';

export interface Classification {
  readonly is: SpanClass;
  readonly generation: Generation | undefined;
  /** Event type of a kept step. */
  readonly step?: string;
}

type Vocabulary = (attributes: Attributes) => SpanClass | { readonly step: string } | undefined;

const KEPT_STEPS: Readonly<Record<string, string>> = {
  RETRIEVER: 'retrieval',
  RERANKER: 'retrieval',
  GUARDRAIL: 'guardrail',
  EVALUATOR: 'evaluation',
  retrieval: 'retrieval',
  apply_guardrail: 'guardrail',
  plan: 'plan',
};

const OPERATIONS: Readonly<Record<string, SpanClass>> = {
  create_agent: 'registration',
  chat: 'model_call',
  text_completion: 'model_call',
  generate_content: 'model_call',
  embeddings: 'embedding',
  // Call types of LiteLLM; asynchronous ones begin with an `a`.
  completion: 'model_call',
  acompletion: 'model_call',
  atext_completion: 'model_call',
  responses: 'model_call',
  aresponses: 'model_call',
  _aresponses_websocket: 'model_call',
  _arealtime: 'model_call',
  anthropic_messages: 'model_call',
  aanthropic_messages: 'model_call',
  agenerate_content: 'model_call',
  generate_content_stream: 'model_call',
  agenerate_content_stream: 'model_call',
  embedding: 'embedding',
  aembedding: 'embedding',
  execute_tool: 'tool_call',
  invoke_agent: 'agent',
  invoke_workflow: 'agent',
};

const OPENINFERENCE: Readonly<Record<string, SpanClass>> = {
  LLM: 'model_call',
  EMBEDDING: 'embedding',
  TOOL: 'tool_call',
  AGENT: 'agent',
};

const AI_SDK: readonly (readonly [pattern: RegExp, is: SpanClass])[] = [
  [/\.(doGenerate|doStream)$/, 'model_call'],
  [/\.doEmbed$/, 'embedding'],
  [/^ai\.toolCall$/, 'tool_call'],
  [/^ai\.(generateText|streamText|generateObject|streamObject)$/, 'agent'],
];

const OPENLLMETRY_REQUESTS: Readonly<Record<string, SpanClass>> = {
  chat: 'model_call',
  completion: 'model_call',
  embedding: 'embedding',
};

const TRACELOOP: Readonly<Record<string, SpanClass>> = { tool: 'tool_call', agent: 'agent', workflow: 'agent' };
const LANGSMITH: Readonly<Record<string, SpanClass>> = { llm: 'model_call', tool: 'tool_call' };

/**
 * Attributes that determine the kind, the most widely used vocabulary first. The scope's name is not used, because some
 * frameworks set it to the service's name.
 */
const VOCABULARIES: readonly (readonly [Generation, Vocabulary])[] = [
  ['gen_ai', operation],
  ['openinference', (attributes) => named(attributes.get('openinference.span.kind'), OPENINFERENCE)],
  ['ai_sdk', aiSdk],
  ['openllmetry', (attributes) => named(attributes.get('llm.request.type'), OPENLLMETRY_REQUESTS)],
  ['openllmetry', (attributes) => named(attributes.get('traceloop.span.kind'), TRACELOOP)],
  ['langsmith', (attributes) => named(attributes.get('langsmith.span.kind'), LANGSMITH)],
  ['mcp', (attributes) => (attributes.get('mcp.method.name') === 'tools/call' ? 'tool_call' : undefined)],
];

const MARKS: readonly (readonly [attribute: string, Generation])[] = [
  ['openinference.span.kind', 'openinference'],
  ['ai.operationId', 'ai_sdk'],
  ['langsmith.span.kind', 'langsmith'],
  ['traceloop.span.kind', 'openllmetry'],
  ['llm.request.type', 'openllmetry'],
  ['gen_ai.operation.name', 'gen_ai'],
  ['mcp.method.name', 'mcp'],
];

/** Classifies a span by its attributes alone; the first vocabulary that knows it decides. */
export function classify(attributes: Attributes): Classification {
  for (const [generation, says] of VOCABULARIES) {
    const is = says(attributes);
    if (typeof is === 'string') return { is, generation };
    if (is !== undefined) return { is: 'kept_step', generation, step: is.step };
  }
  const mark = MARKS.find(([attribute]) => attributes.has(attribute));
  return mark === undefined ? { is: 'foreign', generation: undefined } : { is: 'step', generation: mark[1] };
}

function named(name: unknown, classes: Readonly<Record<string, SpanClass>>): ReturnType<Vocabulary> {
  if (typeof name !== 'string') return undefined;
  if (Object.hasOwn(classes, name)) return classes[name];
  return Object.hasOwn(KEPT_STEPS, name) ? { step: KEPT_STEPS[name] ?? name } : undefined;
}

function operation(attributes: Attributes): ReturnType<Vocabulary> {
  const name = attributes.get('gen_ai.operation.name');
  return typeof name === 'string' && /_memory$/.test(name) ? { step: 'memory' } : named(name, OPERATIONS);
}

function aiSdk(attributes: Attributes): ReturnType<Vocabulary> {
  const id = attributes.get('ai.operationId');
  return typeof id === 'string' ? AI_SDK.find(([pattern]) => pattern.test(id))?.[1] : undefined;
}
