import { createHash } from 'node:crypto';
import { isSecretName, JWT, PRIVATE_KEY, SECRET_KEY } from '@agentlens/guardrails/detectors';
import { findSecretWords, readShell } from '@agentlens/shell';
import { isRecord, type JsonRecord } from '../hosts/host.ts';

export interface RedactedArguments {
  readonly args: JsonRecord;
  /** Whether a secret was found, which gives the call the tag `secret-value`. */
  readonly found: boolean;
  /** Whether anything differs from the call that the host makes. */
  readonly changed: boolean;
}

const SECRET_WORD = String.raw`[\w.-]{0,60}(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)`;
/** A quoted literal after a secret name: `password: "..."`. */
const QUOTED = new RegExp(
  String.raw`((?<![\w.-])${SECRET_WORD}["']?\s{0,4}[=:]\s{0,4})(["'])([^"'\s$\x60{}]{6,200})\2`,
  'gi',
);
/** A value with a digit after a secret name, as in `TOKEN=abc123`; code such as `token = read()` is left alone. */
const ASSIGNED = new RegExp(
  String.raw`((?<![\w.-])${SECRET_WORD}=)((?=[^\s"'&;,$\x60]*\d)[^\s"'&;,{}()\[\]$\x60]{6,200})`,
  'gi',
);
/** The same without quotes, as YAML and headers write it: `api_key: abc123`. */
const WRITTEN = new RegExp(
  String.raw`((?<![\w.-])(?:${SECRET_WORD}|[\w-]{0,40}authorization)["']?\s{0,4}:\s{1,4}(?:(?:token|key|apikey) )?)((?=[^\s"'&;,$\x60]*\d)[^\s"'&;,{}()\[\]$\x60]{6,200})`,
  'gi',
);
const BEARER = /\b((?:Bearer|Basic) )((?=[\w.~+/=-]*\d)[\w.~+/=-]{12,})/g;
const URL_PASSWORD = /(\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@]{0,200}:)([^\s/@$]{3,200})(?=@)/gi;

/** Members whose content may be kept on this machine. */
const CONTENT = new Set(['content', 'old', 'new', 'patch', 'edits']);

export interface RedactOptions {
  /** Keeps the contents of files on this machine. */
  readonly withholdContent: boolean;
  /** Whether the argument `command` is a shell line. */
  readonly isShell?: boolean;
  /** Values of the environment that are secret. */
  readonly values?: readonly string[];
}

/** Removes secrets from arguments, and the contents of files if they are withheld. */
export function redactArguments(
  args: JsonRecord,
  { withholdContent, isShell = false, values = [] }: RedactOptions,
): RedactedArguments {
  const state = { found: false, changed: false };
  const placed = isShell && typeof args.command === 'string' ? secretsInLine(args.command) : [];
  const secrets = [...values.filter(isSecret), ...placed];
  const replaced = (kind: string) => {
    Object.assign(state, { found: true, changed: true });
    return `[secret:${kind}]`;
  };
  const clean = (value: unknown, name: string, depth: number): unknown => {
    if (typeof value === 'string') return cleanText(cutOut(value, secrets, replaced), name, state);
    if (depth > 20) return '[nested too deeply]';
    if (Array.isArray(value)) return value.map((item) => clean(item, name, depth + 1));
    if (!isRecord(value)) return value;
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, clean(item, key, depth + 1)]));
  };
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(args)) {
    const cleaned = clean(value, name, 0);
    if (!withholdContent || !CONTENT.has(name)) {
      kept[name] = cleaned;
      continue;
    }
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    kept[`${name}Length`] = text.length;
    kept[`${name}Sha256`] = createHash('sha256').update(text).digest('hex');
    state.changed = true;
  }
  return { args: kept, ...state };
}

/** @param values secrets that are known by their value */
export function redactText(text: string, values: readonly string[] = []): string {
  const cut = cutOut(text, values.filter(isSecret), (kind) => `[secret:${kind}]`);
  return cleanText(cut, '', { found: false, changed: false });
}

function cleanText(text: string, name: string, state: { found: boolean; changed: boolean }): string {
  const replaced = (kind: string) => {
    state.found = true;
    state.changed = true;
    return `[secret:${kind}]`;
  };
  if (text.length >= 6 && isSecretName(name) && !text.startsWith('$')) return replaced('named');
  return text
    .replaceAll(PRIVATE_KEY, () => replaced('private_key'))
    .replaceAll(JWT, () => replaced('jwt'))
    .replaceAll(SECRET_KEY, () => replaced('api_key'))
    .replaceAll(BEARER, (_all, before: string, value: string) =>
      value.startsWith('[secret:') ? before + value : before + replaced('authorization'),
    )
    .replaceAll(URL_PASSWORD, (_all, before: string) => before + replaced('password'))
    .replaceAll(QUOTED, (all, before: string, quote: string, value: string) =>
      value.startsWith('[secret:') ? all : before + quote + replaced('assigned') + quote,
    )
    .replaceAll(ASSIGNED, (_all, before: string) => before + replaced('assigned'))
    .replaceAll(WRITTEN, (all, before: string, value: string) =>
      value.startsWith('[secret:') ? all : before + replaced('assigned'),
    );
}

/** Shorter words would take innocent letters of the line with them. */
const MIN_SECRET_CHARS = 4;
/** Values that stand for something else, or that are no secret. */
const PLACEHOLDER = /^(?:\$.*|true|false|null|none|\*+|x{3,}|changeme|\[secret:.*)$/i;

/** Secrets of a shell line by their place. */
function secretsInLine(line: string): string[] {
  return findSecretWords(readShell(line).commands, isSecretName).filter(isSecret);
}

function isSecret(value: string): boolean {
  return value.length >= MIN_SECRET_CHARS && !PLACEHOLDER.test(value) && !/[$`]/.test(value);
}

/** Cuts values out of a text, longest first, so that one within another leaves nothing behind. */
function cutOut(text: string, values: readonly string[], replaced: (kind: string) => string): string {
  let cut = text;
  for (const value of [...new Set(values)].sort((a, b) => b.length - a.length))
    if (cut.includes(value)) cut = cut.replaceAll(value, () => replaced('value'));
  return cut;
}

/** Hash over the host's tool and arguments, which names a call on hosts without call ids. */
export function signatureOf(tool: string, input: JsonRecord): string {
  return createHash('sha256')
    .update(JSON.stringify([tool, sorted(input)]))
    .digest('hex')
    .slice(0, 24);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  );
}
