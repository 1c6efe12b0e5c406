/** What a library that reports model calls does, and what is done about it. The page of the docs is made from this. */
export interface ReportingLibrary {
  /** Library and the version that was run, in Markdown. */
  readonly library: string;
  /** The start of the scopes or frameworks by which its calls are recognized; none if nothing arrives that names it. */
  readonly scopes: readonly string[];
  readonly does: string;
  readonly answer: string;
  /** What is missing although the library works, for those who use it: "does not report …". */
  readonly gap?: string;
  /** The gap is shown only where calls without tokens arrive. */
  readonly gapWithoutTokens?: boolean;
  /** Models, by a part of their name, whose input tokens it sends without the cached ones. */
  readonly cachedBeside?: readonly string[];
  /** The spec or finding that shows it, from the root of the repository. */
  readonly shownBy: string;
}

const DIALECT = 'libs/otlp/src';
const RECORDED = `${DIALECT}/recordings.spec.ts`;
const PROVIDER = `${DIALECT}/provider-usage.spec.ts`;
const GAPS = `${DIALECT}/usage-sources.spec.ts`;
const TOKENS = `${DIALECT}/tokens.spec.ts`;

/** One list of libraries, for mapping their tokens, for the docs, for `agentlens doctor` and for the page Connect. */
export const USAGE_SOURCES: readonly ReportingLibrary[] = [
  {
    library: 'LiteLLM 1.110.2, own spans',
    scopes: ['litellm'],
    does: 'names operations `acompletion`, `aresponses`, `anthropic_messages`; no cached tokens',
    answer: 'reads them as model calls, with the sent cost',
    gap: 'does not report cached tokens',
    shownBy: 'findings/litellm-async-operation-names.sh',
  },
  {
    library: 'LiteLLM, OpenLIT 1.45',
    scopes: [],
    does: 'send a cost of 0 for models that their list lacks',
    answer: '`unpriced`',
    shownBy: `${DIALECT}/translate.spec.ts`,
  },
  {
    library: "Anthropic's Python SDK 2.14",
    scopes: ['com.anthropic.sdk.python'],
    does: 'traces itself, also beside an instrumentation',
    answer: 'counts the call once',
    shownBy: RECORDED,
  },
  {
    library: 'OpenInference for agno 1.0.15',
    scopes: ['openinference.instrumentation.agno'],
    does: "sends Anthropic's input without cached tokens",
    answer: 'adds them',
    cachedBeside: ['claude'],
    shownBy: TOKENS,
  },
  {
    library: 'OpenLIT 1.45',
    scopes: ['openlit'],
    does: "sends Anthropic's input without cached tokens",
    answer: 'adds them',
    cachedBeside: ['claude'],
    shownBy: TOKENS,
  },
  {
    library: 'OpenLLMetry for Bedrock 0.62',
    scopes: ['opentelemetry.instrumentation.bedrock'],
    does: 'sends the input without cached tokens',
    answer: 'adds them',
    cachedBeside: [''],
    shownBy: TOKENS,
  },
  {
    library: 'OpenInference for dspy',
    scopes: ['openinference.instrumentation.dspy'],
    does: 'sends no tokens',
    answer: 'such calls are `unpriced`',
    gap: 'does not report tokens; instrument the client of the model instead',
    gapWithoutTokens: true,
    shownBy: GAPS,
  },
  {
    library: 'OpenInference for haystack, smolagents',
    scopes: ['openinference.instrumentation.haystack', 'openinference.instrumentation.smolagents'],
    does: 'lose cached tokens',
    answer: 'priced without the cache',
    gap: 'does not report cached tokens, so costs are too high where prompts are cached',
    shownBy: GAPS,
  },
  {
    library: 'AI SDK 5.0',
    scopes: ['ai'],
    does: 'keeps cache writes and thinking in `providerMetadata` only',
    answer: 'reads them there, in spans and results',
    shownBy: PROVIDER,
  },
  {
    library: 'AI SDK 5 to 7',
    scopes: ['ai', 'gen_ai'],
    does: 'after an abort only the outer span ends; after `break` none',
    answer: 'the run is `interrupted`, its cost unknown; after `break` nothing arrives',
    gap: 'does not report the tokens of a stream that was aborted; one left by break does not arrive',
    gapWithoutTokens: true,
    shownBy: `${DIALECT}/translate.spec.ts`,
  },
  {
    library: '`@langchain/google-genai` 2.3.2',
    scopes: [],
    does: 'keeps thinking and tool tokens only in the total',
    answer: 'computes them from the total',
    shownBy: 'findings/langchain-gemini-parts-below-total.sh',
  },
  {
    library: 'OpenAI Agents for JavaScript 0.20',
    scopes: [],
    does: 'a model object does not say its name',
    answer: 'takes the name that the provider answered',
    shownBy: 'integrations/js/openai-agents/test/openai-agents.spec.ts',
  },
  {
    library: 'openai clients, gpt-5.6 and later',
    scopes: [],
    does: 'report `cache_write_tokens`',
    answer: 'counts and prices them',
    shownBy: 'libs/sdk/src/wire/model-response.spec.ts',
  },
  {
    library: '`opentelemetry-instrumentation-openai-v2` 2.4b0',
    scopes: ['opentelemetry.instrumentation.openai_v2', 'opentelemetry.util.genai'],
    does: 'no cached tokens; cannot be imported beside openai 3',
    answer: 'priced without the cache',
    gap: 'does not report cached tokens, so costs are too high where prompts are cached',
    shownBy: RECORDED,
  },
  {
    library: 'OpenLLMetry for openai 0.40',
    scopes: ['opentelemetry.instrumentation.openai.v1'],
    does: 'no usage of streams unless the client asks for it',
    answer: 'such calls are `unpriced`',
    gap: 'does not report tokens of streams; set stream_options.include_usage',
    gapWithoutTokens: true,
    shownBy: RECORDED,
  },
  {
    library: '`@traceloop/instrumentation-openai` 0.27',
    scopes: ['@traceloop/instrumentation-openai', '@opentelemetry/instrumentation-openai'],
    does: 'no span for openai 7, nor for a failed call; no usage of streams',
    answer: 'such calls are missing or `unpriced`',
    gap: 'does not report streams, failed calls, or any call of openai 7',
    gapWithoutTokens: true,
    shownBy: GAPS,
  },
];

/** What is missing in what one library reports, told to those who use it. */
export function findUsageGaps(
  scope: string,
  calls: { readonly all: number; readonly withoutTokens: number },
): string[] {
  const known = USAGE_SOURCES.filter(({ scopes }) => scopes.some((start) => isScope(scope, start)));
  const gaps = known.flatMap(({ gap, gapWithoutTokens }) =>
    gap === undefined || (gapWithoutTokens === true && calls.withoutTokens === 0) ? [] : [gap],
  );
  if (gaps.length > 0) return gaps;
  // A library that is not in the list must not look free either.
  return calls.all > 0 && calls.withoutTokens === calls.all ? ['does not report tokens'] : [];
}

/** Whether a scope is the named one or below it: `ai` is not the start of `aiohttp`. */
export function isScope(scope: string, start: string): boolean {
  return scope === start || (scope.startsWith(start) && /[^a-z0-9]/i.test(scope[start.length] ?? ''));
}
