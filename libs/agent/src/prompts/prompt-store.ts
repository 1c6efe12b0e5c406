import type { Json } from '../core/json.ts';
import type { Principal } from '../security/roles.ts';

export type EngineName = 'fstring' | 'liquid' | 'handlebars' | 'mustache';

/** One version of a prompt. Immutable. */
export interface PromptTemplate {
  readonly id: string;
  /** 1, 2, 3… */
  readonly version: string;
  readonly name?: string;
  readonly text: string;
  readonly requiredVars?: readonly string[];
  readonly engine?: EngineName;
  readonly metadata?: Readonly<Record<string, Json>>;
  readonly tags?: readonly string[];
  readonly createdBy?: string;
  readonly createdAt?: string;
}

export interface RenderedPrompt {
  readonly text: string;
  readonly meta: { readonly tokensEstimate: number; readonly version: string; readonly hash: string };
}

export interface RenderOptions {
  readonly version?: string;
  /** False: a missing variable becomes an empty text. Default true. */
  readonly throwOnMissing?: boolean;
}

export interface PromptCheck {
  readonly ok: boolean;
  readonly errors?: readonly string[];
  readonly variables?: readonly string[];
}

export interface PromptDifference {
  readonly from: string;
  readonly to: string;
  /** Lines prefixed with ` `, `-` or `+`. */
  readonly lines: readonly string[];
}

export interface PromptStore {
  /** The newest version by default. */
  get(templateId: string, version?: string): Promise<PromptTemplate | null>;
  /** @throws AgentError `missing_variables`, `template_invalid`, `template_limit` */
  render(templateId: string, params?: Readonly<Record<string, Json>>, options?: RenderOptions): Promise<RenderedPrompt>;
  /**
   * Storing the same text and engine again returns the same version. @throws AgentError `template_invalid`,
   * `template_limit`, `forbidden`
   */
  put(
    template: Omit<PromptTemplate, 'version' | 'createdAt' | 'createdBy'>,
    options?: { readonly author?: string; readonly by?: Principal },
  ): Promise<PromptTemplate>;
  /** The newest version of each. */
  list(filter?: { readonly tag?: string; readonly name?: string }): Promise<PromptTemplate[]>;
  validate(text: string, engine?: EngineName): Promise<PromptCheck>;
  diff(templateId: string, from: string, to: string): Promise<PromptDifference>;
}
