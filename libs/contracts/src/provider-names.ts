/**
 * One provider has many names: of OpenTelemetry's conventions, the AI SDK, LiteLLM, LangChain and pydantic-ai. The first
 * is the one that the platform compares.
 */
const NAMES: readonly (readonly string[])[] = [
  ['openai', 'openai-responses', 'openai-chat'],
  ['anthropic'],
  ['bedrock', 'aws', 'aws.bedrock', 'aws-bedrock', 'amazon-bedrock', 'amazon', 'bedrock-converse', 'anthropic-bedrock'],
  [
    ...['azure', 'azure.ai.openai', 'azure.ai.inference', 'az.ai.openai', 'az.ai.inference', 'azure-openai'],
    ...['azure-ai', 'azure-ai-foundry', 'azureopenai', 'microsoft.foundry', 'azure-openai-responses'],
  ],
  [
    ...['google-vertex', 'gcp.vertex-ai', 'gcp.vertexai', 'google.vertex', 'vertex-ai', 'vertexai', 'vertex'],
    ...['google-vertexai', 'vertex-ai-beta', 'google-vertex-anthropic', 'anthropic-vertex'],
  ],
  [
    ...['google', 'gemini', 'gcp.gemini', 'gcp.gen-ai', 'google.generative-ai', 'google-genai', 'google-gla'],
    ...['google-generative-ai', 'google-ai-studio', 'generativelanguage'],
  ],
  ['mistral', 'mistral-ai', 'mistralai'],
  ['xai', 'x-ai', 'x.ai'],
  ['moonshot', 'moonshotai', 'moonshot-ai'],
  ['together', 'together-ai', 'togetherai'],
  ['fireworks', 'fireworks-ai'],
  ['watsonx', 'ibm.watsonx.ai', 'ibm-watsonx'],
  ['cohere', 'cohere-chat'],
  ['deepseek', 'deepseek-ai'],
  ['perplexity', 'perplexity-ai', 'pplx'],
  ['groq'],
  ['cerebras'],
  ['openrouter'],
];

const BY_NAME: ReadonlyMap<string, string> = new Map(
  NAMES.flatMap(([first = '', ...others]) => [first, ...others].map((name) => [name, first] as const)),
);

/** Longer names are not those of a provider. */
const MAX_NAME_CHARS = 200;

/**
 * The name of a provider by which it is compared: `bedrock` for `aws.bedrock` and `amazon-bedrock`, `openai` for the
 * `openai.responses` of the AI SDK. Unknown names stay as they are, in lower case.
 */
export function canonicalProvider(name: string): string {
  const plain = name
    .toLowerCase()
    .slice(0, MAX_NAME_CHARS)
    .replace(/[_\s]+/g, '-');
  for (let end = plain.length; end > 0; end = plain.lastIndexOf('.', end - 1)) {
    const known = BY_NAME.get(plain.slice(0, end));
    if (known !== undefined) return known;
  }
  return plain;
}
