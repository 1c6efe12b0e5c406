import { createTwoFilesPatch } from 'diff';
import { AgentError, isAgentError, messageOf } from '../core/agent-error.ts';
import { hashOf, isPlainObject, type Json } from '../core/json.ts';
import { redactStored } from '../core/redact.ts';
import type { DatabaseClient } from '../memory/database-client.ts';
import { SafetyLayer } from '../safety/safety-layer.ts';
import type { SafetyPolicy } from '../safety/safety-policy.ts';
import type { Principal, Roles } from '../security/roles.ts';
import type {
  EngineName,
  PromptCheck,
  PromptDifference,
  PromptStore,
  PromptTemplate,
  RenderedPrompt,
  RenderOptions,
} from './prompt-store.ts';
import { plainData, type TemplateEngine } from './template-engine.ts';

export interface PromptAudit {
  readonly event: 'prompt.published';
  readonly id: string;
  readonly version: string;
  readonly author: string | undefined;
  readonly hash: string;
}

export interface DatabasePromptStoreOptions {
  readonly database: DatabaseClient;
  readonly engines: readonly TemplateEngine[];
  /** Called with each new version. Its error is rethrown by `put` after the version was stored. */
  readonly onAudit?: (entry: PromptAudit) => void | Promise<void>;
  /** Checked when a template is stored; blocked texts are rejected. */
  readonly policy?: SafetyPolicy;
  readonly roles?: Roles;
  readonly now?: () => number;
}

const VERSIONS = 'agent-prompts';
const ID = /^[A-Za-z0-9._-]{1,100}$/;
const MAX_VERSIONS = 1_000;
const CHARS_PER_TOKEN = 4;

/** Versioned prompts in any database. Versions are immutable; the store assigns the next number. */
export class DatabasePromptStore implements PromptStore {
  readonly #options: DatabasePromptStoreOptions;
  readonly #safety: SafetyLayer;
  readonly #now: () => number;

  constructor(options: DatabasePromptStoreOptions) {
    this.#options = options;
    this.#safety = new SafetyLayer({ ...options.policy, redact: 'none' });
    this.#now = options.now ?? Date.now;
  }

  async get(templateId: string, version?: string): Promise<PromptTemplate | null> {
    if (version === undefined) return (await this.#versions(templateId)).at(-1) ?? null;
    const row = await this.#options.database.read(VERSIONS, placeOf(templateId, version));
    return row === null ? null : readTemplate(row.value);
  }

  async put(
    template: Omit<PromptTemplate, 'version' | 'createdAt' | 'createdBy'>,
    { author, by }: { readonly author?: string; readonly by?: Principal } = {},
  ): Promise<PromptTemplate> {
    const { id, text, engine = 'fstring' } = template;
    if (!ID.test(id))
      throw new AgentError('invalid_config', 'a prompt id has 1 to 100 letters, digits, dots, hyphens or underscores');
    this.#options.roles?.check(by, 'prompt.publish', id);
    await this.#engine(engine).variables(text);
    await this.#inspect(text);
    for (;;) {
      const versions = await this.#versions(id);
      const newest = versions.at(-1);
      if (newest !== undefined && newest.text === text && (newest.engine ?? 'fstring') === engine) return newest;
      if (versions.length >= MAX_VERSIONS) throw new AgentError('capacity', `prompt ${id} has too many versions`);
      const version = String(versions.length + 1);
      const createdAt = new Date(this.#now()).toISOString();
      const made: PromptTemplate = {
        ...template,
        engine,
        version,
        createdAt,
        ...(author === undefined ? {} : { createdBy: author }),
      };
      try {
        await this.#options.database.write(
          VERSIONS,
          placeOf(id, version),
          { ...made, schema_version: 1 } as unknown as Json,
          { ifAbsent: true },
        );
      } catch (error) {
        // Another writer was first: use the next number if the text is still new.
        if (isAgentError(error, 'conflict')) continue;
        throw error;
      }
      await this.#options.onAudit?.({ event: 'prompt.published', id, version, author, hash: hashOf(text) });
      return made;
    }
  }

  async render(
    templateId: string,
    params: Readonly<Record<string, Json>> = {},
    options: RenderOptions = {},
  ): Promise<RenderedPrompt> {
    const { version, throwOnMissing = true } = options;
    const template = await this.get(templateId, version);
    if (template === null)
      throw new AgentError(
        'template_invalid',
        `unknown prompt ${templateId}${version === undefined ? '' : ` version ${version}`}`,
      );
    const engine = this.#engine(template.engine ?? 'fstring');
    const wanted = new Set([...(template.requiredVars ?? []), ...(await engine.variables(template.text))]);
    const missing = [...wanted].filter((name) => !Object.hasOwn(params, name)).sort();
    if (missing.length > 0 && throwOnMissing)
      throw new AgentError('missing_variables', `prompt ${templateId} needs ${missing.join(', ')}`, {
        info: { missing },
      });
    const filled = { ...Object.fromEntries(missing.map((name) => [name, ''])), ...params };
    const text = await engine.render(template.text, plainData(filled));
    return {
      text,
      meta: { tokensEstimate: Math.ceil(text.length / CHARS_PER_TOKEN), version: template.version, hash: hashOf(text) },
    };
  }

  async list({ tag, name }: { readonly tag?: string; readonly name?: string } = {}): Promise<PromptTemplate[]> {
    const newest = new Map<string, PromptTemplate>();
    for (const template of await this.#versions('')) newest.set(template.id, template);
    return [...newest.values()].filter(
      (template) =>
        (tag === undefined || template.tags?.includes(tag) === true) && (name === undefined || template.name === name),
    );
  }

  async validate(text: string, engine: EngineName = 'fstring'): Promise<PromptCheck> {
    try {
      const variables = await this.#engine(engine).variables(text);
      await this.#inspect(text);
      return { ok: true, variables };
    } catch (error) {
      if (!isAgentError(error)) throw error;
      return { ok: false, errors: [messageOf(error)] };
    }
  }

  async diff(templateId: string, from: string, to: string): Promise<PromptDifference> {
    const [a, b] = await Promise.all([this.get(templateId, from), this.get(templateId, to)]);
    if (a === null || b === null)
      throw new AgentError('template_invalid', `prompt ${templateId} has no version ${a === null ? from : to}`);
    const lines = createTwoFilesPatch(from, to, `${a.text}\n`, `${b.text}\n`).split('\n');
    return {
      from,
      to,
      lines: lines.slice(lines.findIndex((line) => line.startsWith('@@')) + 1).filter((line) => /^[ +-]/.test(line)),
    };
  }

  /** In order of their numbers; of all prompts if the id is empty. */
  async #versions(id: string): Promise<PromptTemplate[]> {
    const templates: PromptTemplate[] = [];
    const prefix = id === '' ? '' : `${id}/`;
    let after: string | undefined;
    for (;;) {
      const rows = await this.#options.database.query(VERSIONS, {
        prefix,
        limit: 1_000,
        ...(after === undefined ? {} : { after }),
      });
      templates.push(...rows.map(({ value }) => readTemplate(value)));
      after = rows.at(-1)?.key;
      if (rows.length < 1_000) return templates;
    }
  }

  /** @throws AgentError `template_invalid` for secrets and for texts that the policy blocks */
  async #inspect(text: string): Promise<void> {
    if (redactStored(text) !== text)
      throw new AgentError('template_invalid', 'the template contains a secret or personal data');
    const inspected = await this.#safety.inspect(text, { phase: 'prompt-template' }, () => undefined);
    if (!inspected.ok)
      throw new AgentError('template_invalid', `the policy rejected the template: ${inspected.reason}`);
  }

  #engine(name: EngineName): TemplateEngine {
    const engine = this.#options.engines.find((known) => known.name === name);
    if (engine === undefined)
      throw new AgentError('template_invalid', `the engine ${name} is not configured: pass it to the prompt store`);
    return engine;
  }
}

function placeOf(id: string, version: string): string {
  return `${id}/${version.padStart(6, '0')}`;
}

function readTemplate(value: Json): PromptTemplate {
  if (!isPlainObject(value)) throw new AgentError('template_invalid', 'a stored prompt cannot be read');
  const { schema_version: written, ...template } = value;
  if (written !== 1) throw new AgentError('schema_too_new', 'the prompt was written by a newer version');
  // Only put writes these.
  return template as unknown as PromptTemplate;
}
