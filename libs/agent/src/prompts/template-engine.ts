import { AgentError } from '../core/agent-error.ts';
import type { Json } from '../core/json.ts';
import type { EngineName } from './prompt-store.ts';

/** Renders templates of one syntax. Template syntax inside a value stays text. */
export interface TemplateEngine {
  readonly name: EngineName;
  /** The variables a template reads, by their first names, sorted. @throws AgentError `template_invalid` */
  variables(text: string): Promise<string[]>;
  /**
   * `missing` lists absent variables; the store throws the error. @throws AgentError `template_invalid`,
   * `template_limit`
   */
  render(text: string, data: PlainData): Promise<string>;
}

export type PlainData = { [key: string]: unknown };

/**
 * Parameters as plain data: copies without prototypes, so that no template reaches a constructor, and without
 * functions, which some engines would call.
 */
export function plainData(params: Readonly<Record<string, Json>>): PlainData {
  // The JSON round trip removes everything that is not JSON.
  return copy(JSON.parse(JSON.stringify(params))) as PlainData;
}

function copy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copy);
  if (typeof value !== 'object' || value === null) return value;
  const plain: PlainData = Object.create(null) as PlainData;
  for (const [key, member] of Object.entries(value)) plain[key] = copy(member);
  return plain;
}

export const MAX_TEMPLATE_CHARS = 16_384;
export const MAX_OUTPUT_CHARS = 1_000_000;
export const MAX_LOOP_TURNS = 10_000;
const MAX_NESTING_LEVELS = 50;

/**
 * Checks a template's length and nesting in one pass before an engine parses it. Parsers take minutes for templates
 * beyond these limits.
 *
 * @throws AgentError `template_limit`
 */
export function checkTemplate(text: string): void {
  if (text.length > MAX_TEMPLATE_CHARS) throw limit('the template is longer than allowed');
  let depth = 0;
  for (const [, open, close] of text.matchAll(
    /(\{\{[~-]?[#^]|\{%-?\s*(?:if|unless|for|case|capture|tablerow|raw|comment)\b)|(\{\{[~-]?\/|\{%-?\s*end)/g,
  )) {
    if (open !== undefined) depth += 1;
    if (close !== undefined) depth = Math.max(0, depth - 1);
    if (depth > MAX_NESTING_LEVELS) throw limit('the template is nested too deeply');
  }
}

/** @throws AgentError `template_limit` */
export function checkOutput(text: string): string {
  if (text.length > MAX_OUTPUT_CHARS) throw limit('the text is longer than allowed');
  return text;
}

/** Counts the iterations of all loops of one rendering, and the characters they produce. */
export class LoopBudget {
  #turns = 0;

  /** @throws AgentError `template_limit` */
  turn(): void {
    this.#turns += 1;
    if (this.#turns > MAX_LOOP_TURNS) throw limit('the template loops too often');
  }
}

function limit(message: string): AgentError {
  return new AgentError('template_limit', message);
}
