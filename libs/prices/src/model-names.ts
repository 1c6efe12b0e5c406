/** A model as the price table may know it. */
export interface ModelName {
  readonly modelId: string;
  /** Absent: the table finds the provider by the model's name. */
  readonly providerId?: string | undefined;
}

interface NameForm {
  readonly pattern: RegExp;
  /** The host whose prices apply, regardless of the provider the client states. */
  readonly providerId: string;
}

/**
 * Names that say who hosts the model. The first group is the name the price table knows. Sources: "Supported foundation
 * models" and "Inference profiles" of Amazon Bedrock, "Partner models" of Vertex AI, the Gemini API, and the guides on
 * fine-tuned models of OpenAI and on model ids of Fireworks.
 */
const FORMS: readonly NameForm[] = [
  { pattern: /^arn:aws[^:]*:bedrock:[^:]*:\d*:(?:foundation-model|inference-profile)\/(.+)$/, providerId: 'aws' },
  {
    pattern:
      /^((?:(?:us|us-gov|eu|apac|jp|au|ca|sa|me|af|global)\.)?(?:ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot|moonshotai|nvidia|openai|qwen|stability|writer|zai)\..+)$/,
    providerId: 'aws',
  },
  {
    pattern: /^(?:projects\/[^/]+\/locations\/[^/]+\/)?publishers\/[^/]+\/models\/([^/]+)$/,
    providerId: 'google',
  },
  { pattern: /^(?:accounts\/fireworks\/models)\/([^/]+)$/, providerId: 'fireworks' },
  { pattern: /^models\/(gemini[^/]*)$/, providerId: 'google' },
  { pattern: /^(ft:(?:gpt|o\d|babbage|davinci).*)$/, providerId: 'openai' },
];

/** LiteLLM nests at most `bedrock/converse/<region>/<id>`; a longer path is not a model's name. */
const MAX_SEGMENTS = 8;

/**
 * The names under which the price table may list a model, the most telling first: a name that says who hosts it, the
 * name as sent under the stated provider, then the parts of `provider/model` names as LiteLLM and OpenRouter write them.
 * @param provider as the client states it
 */
export function modelNames(model: string, provider: string | undefined): readonly ModelName[] {
  const parts = partsOf(model);
  const hosted = parts.flatMap(({ modelId }) => {
    for (const { pattern, providerId } of FORMS) {
      const name = pattern.exec(modelId)?.[1];
      if (name !== undefined) return [{ modelId: name, providerId }];
    }
    return [];
  });
  const stated = provider === undefined ? [] : parts.map(({ modelId }) => ({ modelId, providerId: provider }));
  const nested = parts.filter(({ providerId }) => providerId !== undefined);
  const makers = parts.map(({ modelId }) => ({ modelId }));
  return [...hosted, ...stated, ...nested, ...makers];
}

/**
 * The API's name of a model that a person wrote: `claude-haiku-4-5` for "Claude Haiku 4.5" and for the
 * `claude-haiku-4.5` of OpenRouter. Other names stay as they are.
 */
export function readModelName(name: string): string {
  const plain = name.trim().toLowerCase();
  if (!plain.startsWith('claude')) return plain;
  return plain
    .replace(/\s*\([^()]*\)$/, '')
    .replace(/[\s.]+/g, '-')
    .replace(/-0$/, '');
}

/** `a/b/c` as itself, as `b/c` of `a`, and as `c` of `b`. */
function partsOf(model: string): readonly ModelName[] {
  const parts: ModelName[] = [{ modelId: model }];
  let rest = model;
  while (parts.length < MAX_SEGMENTS) {
    const slash = rest.indexOf('/');
    if (slash <= 0 || slash === rest.length - 1) break;
    parts.push({ modelId: rest.slice(slash + 1), providerId: rest.slice(0, slash) });
    rest = rest.slice(slash + 1);
  }
  return parts;
}
