import { visible } from '../../../../libs/contracts/src/visible.ts';
import { counted } from '../figures/figures.ts';
import { asText } from './as-text.ts';
import { Digits } from './exact-json.ts';

/** A JSON value as lines of text. Collapsed parts are not computed. */
export interface Line {
  readonly path: string;
  readonly depth: number;
  readonly key: string | undefined;
  readonly text: string;
  readonly tone: 's' | 'nu' | 'k' | '';
  /** Undefined if it cannot be expanded. */
  readonly open: boolean | undefined;
  readonly value: unknown;
}

const OPEN_LEVELS = 3;
const OPEN_ENTRIES = 100;
/** Further entries of a container are shown on request. */
const MAX_ENTRIES = 500;
const MAX_TEXT_CHARS = 2_000;
const LONG_BASE64 = 200;

export function linesOf(value: unknown, toggled: ReadonlySet<string>, all: ReadonlySet<string> = new Set()): Line[] {
  const lines: Line[] = [];
  const add = (node: unknown, path: string, depth: number, key: string | undefined) => {
    if (typeof node !== 'object' || node === null || node instanceof Digits) {
      lines.push({ path, depth, key, ...scalar(node), open: undefined, value: node });
      return;
    }
    const entries = Array.isArray(node)
      ? node.map((one, index): [string, unknown] => [String(index), one])
      : Object.entries(node);
    const isOpen = (depth < OPEN_LEVELS && entries.length <= OPEN_ENTRIES) !== toggled.has(path);
    const [begin, end] = Array.isArray(node) ? ['[', ']'] : ['{', '}'];
    if (entries.length === 0 || !isOpen) {
      const size = entries.length === 0 ? '' : ` ${counted(entries.length, Array.isArray(node) ? 'item' : 'key')} `;
      lines.push({
        path,
        depth,
        key,
        text: `${begin}${size}${end}`,
        tone: '',
        open: entries.length === 0 ? undefined : false,
        value: node,
      });
      return;
    }
    lines.push({ path, depth, key, text: begin, tone: '', open: true, value: node });
    const shown = all.has(path) ? entries : entries.slice(0, MAX_ENTRIES);
    for (const [name, one] of shown)
      add(one, path === '' ? name : `${path}.${name}`, depth + 1, Array.isArray(node) ? undefined : name);
    if (shown.length < entries.length)
      lines.push({
        path,
        depth: depth + 1,
        key: undefined,
        text: `${entries.length - shown.length} more`,
        tone: 'k',
        open: undefined,
        value: undefined,
      });
    lines.push({ path: `${path} end`, depth, key: undefined, text: end, tone: '', open: undefined, value: undefined });
  };
  add(value, '', 0, undefined);
  return lines;
}

function scalar(node: unknown): Pick<Line, 'text' | 'tone'> {
  if (typeof node === 'string') {
    if (node.length > LONG_BASE64 && /^[A-Za-z0-9+/=_-]+$/.test(node.slice(0, LONG_BASE64)))
      return { text: `text of ${node.length} characters, as base64`, tone: 'k' };
    const cut = node.length > MAX_TEXT_CHARS;
    return {
      text: `${visible(JSON.stringify(cut ? node.slice(0, MAX_TEXT_CHARS) : node))}${cut ? ` … ${node.length - MAX_TEXT_CHARS} more characters` : ''}`,
      tone: 's',
    };
  }
  const isNumber = typeof node === 'number' || node instanceof Digits;
  return { text: node === undefined ? 'nothing' : asText(node), tone: isNumber ? 'nu' : 'k' };
}

/** Size of a value up to a limit: nodes and characters. */
export function sizeOf(value: unknown, limit: number): number {
  let size = 0;
  const stack: unknown[] = [value];
  while (stack.length > 0 && size <= limit) {
    const node = stack.pop();
    if (typeof node === 'string') size += node.length + 2;
    else if (typeof node === 'object' && node !== null) {
      size += 8;
      for (const one of Object.values(node)) stack.push(one);
    } else size += 6;
  }
  return size;
}
