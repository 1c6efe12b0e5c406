import { AgentError } from '../core/agent-error.ts';

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
