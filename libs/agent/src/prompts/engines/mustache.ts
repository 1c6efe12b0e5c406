import mustache from 'mustache';
import { AgentError, isAgentError, messageOf } from '../../core/agent-error.ts';
import { checkOutput, checkTemplate, LoopBudget, type TemplateEngine } from '../template-engine.ts';

/** `[type, value, start, end, children?, end of section?]` */
type Token = readonly [string, string, number, number, (readonly Token[])?, number?];

/** Mustache without partials. Values are written unescaped. */
export function mustacheEngine(): TemplateEngine {
  return {
    name: 'mustache',
    async variables(text) {
      const names = new Set<string>();
      collect(tokensOf(text), names, false);
      return [...names].sort();
    },
    async render(text, data) {
      collect(tokensOf(text), new Set(), false);
      return guarded(() => {
        const writer = new CountingWriter();
        return checkOutput(writer.render(text, data, undefined, { escape: String }));
      });
    },
  };
}

/** Counts every iteration of every section. */
class CountingWriter extends mustache.Writer {
  readonly #budget = new LoopBudget();

  override renderTokens(...given: Parameters<mustache.Writer['renderTokens']>): string {
    this.#budget.turn();
    return checkOutput(super.renderTokens(...given));
  }
}

function tokensOf(text: string): readonly Token[] {
  checkTemplate(text);
  // The library's types do not describe tokens.
  return guarded(() => mustache.parse(text) as unknown as readonly Token[]);
}

function collect(tokens: readonly Token[], names: Set<string>, inner: boolean): void {
  for (const [type, value, , , children = []] of tokens) {
    if (type === '>') throw new AgentError('template_invalid', 'partials are not allowed');
    if (type === '=') throw new AgentError('template_invalid', 'delimiters cannot be changed');
    if (!inner && ['name', '&', '#', '^'].includes(type) && value !== '.') names.add(value.split('.')[0] ?? value);
    collect(children, names, inner || type === '#');
  }
}

function guarded<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (isAgentError(error)) throw error;
    throw new AgentError('template_invalid', messageOf(error), { cause: error });
  }
}
