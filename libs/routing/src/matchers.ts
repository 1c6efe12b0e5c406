import { ALERT_LABELS, type AlertLabel, type AlertLabels } from '@agentlens/contracts';
import { RE2JS } from 're2js';

export interface Matcher {
  readonly text: string;
  readonly label: AlertLabel;
  /** It matches any value, as `agent=~.*` does. */
  readonly coversAll: boolean;
  matches(labels: AlertLabels): boolean;
}

export type ParsedMatcher =
  | { readonly ok: true; readonly matcher: Matcher }
  | { readonly ok: false; readonly message: string };

const FORM = /^\s*([a-z_]+)\s*(=~|!~|!=|=)\s*(.*?)\s*$/s;
const MAX_PATTERN_LENGTH = 200;
/** As for the patterns of rules: counted repetitions multiply, and a match costs the size for each character. */
const MAX_PROGRAM = 2_000;
/** A pattern that matches all of these matches anything that a label can be. */
const PROBES = ['', 'x', 'billing-1', '\u{1f600} y'];

/**
 * Parses `label`, operator and value. A label that an alert does not have is the empty text, as in Alertmanager. A
 * pattern (RE2) matches the whole value.
 */
function parseMatcher(text: string): ParsedMatcher {
  const [, label = '', operator = '', quoted = ''] = FORM.exec(text) ?? [];
  if (operator === '') return refuse(text, 'has no operator; write for example "severity=critical"');
  if (!isLabel(label)) return refuse(text, `names no label of alerts; labels are ${ALERT_LABELS.join(', ')}`);
  const value = /^".*"$/s.test(quoted) ? quoted.slice(1, -1) : quoted;
  const wants = operator === '=' || operator === '=~';
  const valueIn = (labels: AlertLabels) => labels[label] ?? '';
  if (!operator.endsWith('~')) {
    return accept({ text, label, coversAll: false, matches: (labels) => (valueIn(labels) === value) === wants });
  }
  if (value.length > MAX_PATTERN_LENGTH) return refuse(text, `has a pattern of over ${MAX_PATTERN_LENGTH} characters`);
  try {
    const pattern = RE2JS.compile(value, RE2JS.DOTALL);
    if (pattern.programSize() > MAX_PROGRAM) return refuse(text, 'has a pattern that repeats too much');
    const coversAll = wants && PROBES.every((probe) => pattern.matches(probe));
    return accept({ text, label, coversAll, matches: (labels) => pattern.matches(valueIn(labels)) === wants });
  } catch (error) {
    return refuse(text, `has a pattern that cannot be read (${error instanceof Error ? error.message : 'RE2'})`);
  }
}

export interface ParsedMatchers {
  readonly matchers: readonly Matcher[];
  /** What is wrong with those that cannot be read. */
  readonly messages: readonly string[];
}

/**
 * Parses all matchers. One that cannot be read matches no alert: left out, it would widen the silence or route that it
 * was to narrow.
 */
export function parseMatchers(texts: readonly string[]): ParsedMatchers {
  const parsed = texts.map(parseMatcher);
  return {
    matchers: parsed.map((one, n) => (one.ok ? one.matcher : matchNothing(texts[n] ?? ''))),
    messages: parsed.flatMap((one) => (one.ok ? [] : [one.message])),
  };
}

/** Reads the matchers of a stored silence. If they are not a list of texts, or the list is empty, they match no alert. */
export function readStoredMatchers(stored: unknown): ParsedMatchers {
  const texts: readonly unknown[] = Array.isArray(stored) ? stored : [];
  if (texts.length > 0 && texts.every((text) => typeof text === 'string')) return parseMatchers(texts);
  return { matchers: [matchNothing('')], messages: ['the matchers are not a list of strings'] };
}

function matchNothing(text: string): Matcher {
  return { text, label: 'kind', coversAll: false, matches: () => false };
}

export function matchesAll(matchers: readonly Matcher[], labels: AlertLabels): boolean {
  return matchers.every((matcher) => matcher.matches(labels));
}

/** True if the matchers leave out no alert that is possible. */
export function matchesEverything(matchers: readonly Matcher[]): boolean {
  return matchers.every(({ coversAll }) => coversAll);
}

function isLabel(text: string): text is AlertLabel {
  return ALERT_LABELS.some((label) => label === text);
}

function accept(matcher: Matcher): ParsedMatcher {
  return { ok: true, matcher };
}

function refuse(text: string, why: string): ParsedMatcher {
  return { ok: false, message: `"${text}" ${why}` };
}
