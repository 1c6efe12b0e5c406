import { AgentError } from '../../core/agent-error.ts';
import { isPlainObject } from '../../core/json.ts';
import { checkOutput, checkTemplate, type PlainData, type TemplateEngine } from '../template-engine.ts';

type Piece = { readonly text: string } | { readonly path: readonly string[] };

const NAME = /^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_0-9][A-Za-z0-9_]*)*$/;

/** `{name}` and `{a.b}`; `{{` and `}}` are braces. No calls, formats or conditions. */
export function fstringEngine(): TemplateEngine {
  return {
    name: 'fstring',
    async variables(text) {
      checkTemplate(text);
      const names = parse(text).flatMap((piece) => ('path' in piece ? [piece.path[0] ?? ''] : []));
      return [...new Set(names)].sort();
    },
    async render(text, data) {
      checkTemplate(text);
      const parts = parse(text).map((piece) => ('text' in piece ? piece.text : textAt(data, piece.path)));
      return checkOutput(parts.join(''));
    },
  };
}

function parse(text: string): Piece[] {
  const pieces: Piece[] = [];
  let literal = '';
  for (let at = 0; at < text.length; at++) {
    const unit = text.charAt(at);
    if (unit !== '{' && unit !== '}') {
      literal += unit;
    } else if (text.charAt(at + 1) === unit) {
      literal += unit;
      at += 1;
    } else {
      const end = text.indexOf('}', at);
      const name = unit === '{' && end !== -1 ? text.slice(at + 1, end).trim() : '';
      if (!NAME.test(name)) throw invalid(at);
      pieces.push({ text: literal }, { path: name.split('.') });
      literal = '';
      at = end;
    }
  }
  return [...pieces, { text: literal }];
}

function textAt(data: PlainData, path: readonly string[]): string {
  let value: unknown = data;
  for (const name of path) value = isPlainObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function invalid(at: number): AgentError {
  return new AgentError(
    'template_invalid',
    `at character ${at}: this brace does not start a variable; write {{ or }} for a literal brace`,
    {
      info: { at },
    },
  );
}
