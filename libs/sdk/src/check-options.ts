/** Throws if a value is invalid for an option. */
export type OptionCheck = (value: unknown, path: string) => void;
export type OptionShape = Readonly<Record<string, OptionCheck>>;

const text = is('a non-empty string', (value) => typeof value === 'string' && value !== '');
const anyText = is('a string', (value) => typeof value === 'string');
const flag = is('true or false', (value) => typeof value === 'boolean');
const callable = is('a function', (value) => typeof value === 'function');
const positive = is('a positive number', (value) => isNumber(value) && value > 0);
const orZero = is('0 or a positive number', (value) => isNumber(value) && value >= 0);
const share = is(
  'a number from 0 to 1, or null',
  (value) => value === null || (isNumber(value) && value >= 0 && value <= 1),
);

const AGENT = {
  slug: text,
  name: optional(anyText),
  description: optional(anyText),
  tags: optional(listOf(anyText)),
};

const TOOL = { name: text, description: optional(anyText), tags: optional(listOf(anyText)) };

const LIMITS = {
  maxTokens: optional(orZero),
  maxIterations: optional(orZero),
  maxCostUsd: optional(orZero),
  maxConsecutiveFailures: optional(wholeFrom(1)),
  maxConfidenceDrop: optional(share),
  confidenceWindow: optional(wholeFrom(3, 50)),
  probeAfterSeconds: optional(unless(null, wholeFrom(1))),
};

const SINK = {
  maxQueue: optional(wholeFrom(1)),
  batchSize: optional(wholeFrom(1, 1_000)),
  flushMs: optional(orZero),
  attempts: optional(wholeFrom(1)),
  backoffBaseMs: optional(orZero),
  backoffMostMs: optional(orZero),
  sendTimeoutMs: optional(positive),
  maxInFlight: optional(wholeFrom(1)),
};

const OPTIONS = {
  apiKey: text,
  baseUrl: is('an http(s) URL', isHttpUrl),
  agent: only(AGENT),
  tools: optional(listOf(having(TOOL))),
  enforceMode: optional(oneOf('enforce', 'shadow', 'off')),
  failMode: optional(oneOf('open', 'closed')),
  deadlineMs: optional(positive),
  breaker: optional(unless(false, only(LIMITS))),
  rules: optional(having({ compile: callable })),
  control: optional(oneOf('stream', 'poll', 'off')),
  heartbeatMs: optional(orZero),
  redactMessage: optional(callable),
  recordContent: optional(flag),
  maxArgumentChars: optional(wholeFrom(1)),
  onOversized: optional(oneOf('block', 'allow')),
  drainMs: optional(orZero),
  sink: optional(only(SINK)),
  logger: optional(having({ warn: callable })),
  runtime: optional(having({})),
};

/**
 * Validates the options of `init`. Misspelt options are rejected too: ignoring `failmode` would leave an agent failing
 * open.
 *
 * @throws TypeError naming the option and its allowed values; never the key
 */
export function checkOptions(options: unknown): void {
  checkAgainst('AgentLens.init', OPTIONS, options);
}

/** @throws TypeError starting with the name of the function that received the options */
export function checkAgainst(called: string, shape: OptionShape, options: unknown): void {
  try {
    only(shape)(options, '');
  } catch (error) {
    if (error instanceof WrongOption) throw new TypeError(`${called}: ${error.message}`);
    throw error;
  }
}

/** For options defined elsewhere. */
export const shapes = { optional, unless, only, having, oneOf, callable, ms: optional(orZero) };

class WrongOption extends TypeError {}

function is(what: string, holds: (value: unknown) => boolean): OptionCheck {
  return (value, path) => {
    if (!holds(value)) refuse(path, what, value);
  };
}

/** Accepts this one value unchecked. */
function unless(taken: undefined | null | boolean, check: OptionCheck): OptionCheck {
  return (value, path) => {
    if (value !== taken) check(value, path);
  };
}

function optional(check: OptionCheck): OptionCheck {
  return unless(undefined, check);
}

function oneOf(...known: readonly [string, ...string[]]): OptionCheck {
  const what = `${known.slice(0, -1).join(', ')} or ${known.at(-1)}`;
  return is(what, (value) => known.includes(value as string));
}

function wholeFrom(least: number, most = Number.MAX_SAFE_INTEGER): OptionCheck {
  const what = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  return is(`a whole number ${what}`, (value) => Number.isInteger(value) && inside(value as number, least, most));
}

function listOf(check: OptionCheck): OptionCheck {
  return (value, path) => {
    if (!Array.isArray(value)) return refuse(path, 'a list', value);
    for (const [index, item] of value.entries()) check(item, `${path}.${index}`);
  };
}

/** An object with these members and possibly others. */
function having(shape: OptionShape): OptionCheck {
  return (value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse(path, 'an object', value);
    for (const [name, check] of Object.entries(shape)) check((value as Record<string, unknown>)[name], at(path, name));
  };
}

/** An object with only these members. */
function only(shape: OptionShape): OptionCheck {
  const check = having(shape);
  return (value, path) => {
    check(value, path);
    const unknown = Object.keys(value as object).find((name) => !Object.hasOwn(shape, name));
    if (unknown === undefined) return;
    const meant = Object.keys(shape).find((name) => letters(name) === letters(unknown));
    const fix = meant === undefined ? `there are ${Object.keys(shape).join(', ')}` : `did you mean ${at(path, meant)}?`;
    throw new WrongOption(`${at(path, unknown)} is no option; ${fix}`);
  };
}

function refuse(path: string, what: string, value: unknown): never {
  throw new WrongOption(`${path || 'its argument'} must be ${what}, not ${shown(value, path)}`);
}

function shown(value: unknown, path: string): string {
  if (typeof value === 'string') return path === 'apiKey' || path === 'baseUrl' ? 'that text' : JSON.stringify(value);
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'an object';
  return typeof value === 'function' ? 'a function' : String(value);
}

function at(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}

function letters(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, '');
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

function inside(value: number, least: number, most: number): boolean {
  return value >= least && value <= most;
}

function isHttpUrl(value: unknown): boolean {
  if (typeof value !== 'string' || !URL.canParse(value)) return false;
  return ['http:', 'https:'].includes(new URL(value).protocol);
}
