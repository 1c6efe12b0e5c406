import Handlebars from 'handlebars';
import { AgentError, isAgentError, messageOf } from '../../core/agent-error.ts';
import { checkOutput, checkTemplate, LoopBudget, type TemplateEngine } from '../template-engine.ts';

const HELPERS = ['if', 'unless', 'each', 'with'] as const;
type Node = Readonly<Record<string, unknown>>;

/** Handlebars with the helpers `if`, `unless`, `each` and `with`, and no access outside the data. */
export function handlebarsEngine(): TemplateEngine {
  return {
    name: 'handlebars',
    async variables(text) {
      checkTemplate(text);
      const names = new Set<string>();
      collect(parse(text), names, []);
      return [...names].sort();
    },
    async render(text, data) {
      checkTemplate(text);
      const tree = parse(text);
      collect(tree, new Set(), []);
      const options = { allowProtoMethodsByDefault: false, allowProtoPropertiesByDefault: false };
      return guarded(() => checkOutput(compile(tree)(asWritten(data), options)));
    },
  };
}

/** One environment per rendering: its loops share one budget. */
function compile(tree: Node) {
  const environment = Handlebars.create();
  const budget = new LoopBudget();
  environment.unregisterHelper('lookup');
  environment.unregisterHelper('log');
  environment.registerHelper('each', (items: unknown, options: Handlebars.HelperOptions) =>
    each(items, options, budget),
  );
  // Handles lists in a section without a helper.
  environment.registerHelper(
    'blockHelperMissing',
    function section(this: unknown, context: unknown, options: Handlebars.HelperOptions) {
      if (context === true) return options.fn(this);
      if (context === false || context === null || context === undefined) return options.inverse(this);
      return Array.isArray(context) ? each(context, options, budget) : options.fn(context);
    },
  );
  const known = Object.fromEntries([...HELPERS, 'blockHelperMissing', 'helperMissing'].map((name) => [name, true]));
  return environment.compile(tree, { knownHelpersOnly: true, knownHelpers: known, strict: false, preventIndent: true });
}

/** Disables escaping. The engine's own option adds adjacent numbers instead of concatenating them. */
function asWritten(value: unknown): unknown {
  if (typeof value === 'string') return value === '' ? value : new Handlebars.SafeString(value);
  if (Array.isArray(value)) return value.map(asWritten);
  if (typeof value !== 'object' || value === null) return value;
  const written = Object.create(null) as Record<string, unknown>;
  for (const [key, member] of Object.entries(value)) written[key] = asWritten(member);
  return written;
}

function each(items: unknown, options: Handlebars.HelperOptions, budget: LoopBudget): string {
  const entries = entriesOf(items);
  if (entries.length === 0) return options.inverse(items);
  let text = '';
  for (const [index, [key, item]] of entries.entries()) {
    budget.turn();
    const frame = Handlebars.createFrame(options.data ?? {});
    Object.assign(frame, { index, key, first: index === 0, last: index === entries.length - 1 });
    text = checkOutput(text + options.fn(item, { data: frame, blockParams: [item, key] }));
  }
  return text;
}

function entriesOf(items: unknown): readonly (readonly [string | number, unknown])[] {
  if (Array.isArray(items)) return [...items.entries()];
  if (typeof items !== 'object' || items === null || items instanceof Handlebars.SafeString) return [];
  return Object.entries(items);
}

function parse(text: string): Node {
  return guarded(() => Handlebars.parse(text) as unknown as Node);
}

/** Collects variables of the outermost context, and rejects partials, decorators and other helpers. */
function collect(node: unknown, names: Set<string>, scopes: readonly string[]): void {
  if (Array.isArray(node)) {
    for (const child of node) collect(child, names, scopes);
    return;
  }
  if (typeof node !== 'object' || node === null) return;
  const { type, ...rest } = node as Node;
  if (typeof type === 'string' && /Partial|Decorator/.test(type))
    throw new AgentError('template_invalid', 'partials and decorators are not allowed');
  if (type === 'PathExpression') {
    const { parts, data, original } = rest as { parts: string[]; data: boolean; original: string };
    if (parts.some((part) => part === '__proto__' || part === 'constructor' || part === 'prototype'))
      throw new AgentError('template_invalid', `"${original}" is not a variable`);
    const [name] = parts;
    if (!data && name !== undefined && !scopes.includes(name) && !scopes.includes('*')) names.add(name);
    return;
  }
  // Both forms write text unescaped.
  if (type === 'MustacheStatement') Object.assign(node, { escaped: true });
  if (type === 'MustacheStatement' || type === 'BlockStatement' || type === 'SubExpression') {
    const { path, params, hash, program, inverse } = rest as {
      path: { original: string };
      params: unknown[];
      hash: unknown;
      program?: Node;
      inverse?: Node;
    };
    const helper = HELPERS.some((name) => name === path.original);
    if (!helper && params.length > 0)
      throw new AgentError('template_invalid', `unknown helper "${path.original}": allowed are ${HELPERS.join(', ')}`);
    if (!helper) collect(path, names, scopes);
    collect(params, names, scopes);
    collect(hash, names, scopes);
    // Inside each, with and sections, names refer to the inner value, which is unknown here.
    const inner = helper && (path.original === 'if' || path.original === 'unless') ? scopes : ['*'];
    collect(program, names, inner);
    collect(inverse, names, scopes);
    return;
  }
  for (const child of Object.values(rest)) collect(child, names, scopes);
}

function guarded<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (isAgentError(error)) throw error;
    throw new AgentError('template_invalid', messageOf(error).split('\n')[0] ?? '', { cause: error });
  }
}
