import { AgentError } from '../core/agent-error.ts';

export const MOST_TEMPLATE_CHARS = 16_384;
export const MOST_OUTPUT_CHARS = 1_000_000;
export const MOST_LOOP_TURNS = 10_000;
const MOST_NESTING = 50;

/**
 * Before any engine parses a template: its length, and how deeply its blocks are nested, in one pass. Parsers take
 * minutes for what these forbid.
 *
 * @throws AgentError `template_limit`
 */
export function checkTemplate(text: string): void {
  if (text.length > MOST_TEMPLATE_CHARS) throw limit('the template is longer than allowed');
  let depth = 0;
  for (const [, open, close] of text.matchAll(
    /(\{\{[~-]?[#^]|\{%-?\s*(?:if|unless|for|case|capture|tablerow|raw|comment)\b)|(\{\{[~-]?\/|\{%-?\s*end)/g,
  )) {
    if (open !== undefined) depth += 1;
    if (close !== undefined) depth = Math.max(0, depth - 1);
    if (depth > MOST_NESTING) throw limit('the template is nested too deeply');
  }
}

/** @throws AgentError `template_limit` */
export function checkOutput(text: string): string {
  if (text.length > MOST_OUTPUT_CHARS) throw limit('the text is longer than allowed');
  return text;
}

/** Counts the turns of all loops of one rendering, and the characters they make. */
export class LoopBudget {
  #turns = 0;

  /** @throws AgentError `template_limit` */
  turn(): void {
    this.#turns += 1;
    if (this.#turns > MOST_LOOP_TURNS) throw limit('the template loops too often');
  }
}

function limit(message: string): AgentError {
  return new AgentError('template_limit', message);
}
