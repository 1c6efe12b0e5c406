/** Words for the choices of rule configs: operators, scopes, units of counting. The rule editor shows the same words. */
export const CHOICE_WORDS: Readonly<Record<string, string>> = {
  eq: 'is',
  neq: 'is not',
  contains: 'contains',
  startsWith: 'begins with',
  endsWith: 'ends with',
  in: 'is one of',
  nin: 'is not one of',
  regex: 'matches the pattern',
  glob: 'looks like',
  gt: 'is more than',
  gte: 'is at least',
  lt: 'is less than',
  lte: 'is at most',
  exists: 'is there',
  notExists: 'is missing',
  anyOf: 'any of them',
  allOf: 'all of them',
  has: 'has the tag',
  hasValue: 'is',
  hasValueAny: 'is one of',
  session: 'a run',
  daily: 'a day',
  run: 'the run',
  tree: 'the run tree',
  tenant: 'the tenant',
  agent: 'the agent',
  agent_user: 'the agent for the same end user',
  tool: 'the tool call',
  total: 'all tool calls of the run',
  calls: 'tool and model calls',
  tools: 'tool calls',
  models: 'model calls',
  events: 'events of any kind',
  counted: 'further calls of these tools',
  every_call: 'every call',
  last: 'the last value',
  sum: 'the sum',
  avg: 'the average',
  min: 'the lowest value',
  max: 'the highest value',
  count: 'the number of values',
  p95: 'the 95th percentile',
  string: 'text',
  number: 'a number',
  boolean: 'true or false',
  allow: 'let it pass',
  block: 'block',
  possible: 'read earlier in the run tree',
  carried: 'the arguments carry a part of the data',
  proven: 'the arguments contain a whole value of the data',
  arguments: 'the arguments',
  result: 'the result',
  domain: 'domain',
  tld: 'top-level domain',
  scheme: 'scheme',
  email: 'an e-mail address',
  email_domain: 'the domain of an e-mail address',
  phone: 'a phone number',
  credit_card: 'a card number',
  iban: 'an IBAN',
  uk_nino: 'a UK National Insurance number',
  ip_address: 'an IP address',
  url: 'a URL',
  jwt: 'a JSON web token',
  private_key: 'a private key',
  secret_key: 'a secret key',
  mon: 'Monday',
  tue: 'Tuesday',
  wed: 'Wednesday',
  thu: 'Thursday',
  fri: 'Friday',
  sat: 'Saturday',
  sun: 'Sunday',
  info: 'information',
  warn: 'warning',
  error: 'error',
  critical: 'critical',
  approval: 'approvals',
  breaker: 'breakers',
};

export function choice(name: unknown): string {
  return CHOICE_WORDS[String(name)] ?? String(name);
}

/** Beside runs, a session is a session; in conditions older than sessions it is a run. */
export function choiceAmong(choices: readonly string[], name: unknown): string {
  return name === 'session' && choices.includes('run') ? 'the session' : choice(name);
}

const NUMBERS = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 17 });

/** A number with thousands separators: `1,000`. */
export function number(value: unknown): string {
  return typeof value === 'number' ? NUMBERS.format(value) : plain(value);
}

/** `3 times`, `1 minute`. */
export function counted(value: unknown, unit: string): string {
  return `${number(value)} ${unit}${value === 1 ? '' : 's'}`;
}

/** A value that a rule compares with: numbers as numbers, text in quotation marks. */
export function value(compared: unknown): string {
  if (Array.isArray(compared)) return list(compared.map(value));
  if (typeof compared === 'number') return number(compared);
  return typeof compared === 'string' ? `“${compared}”` : plain(compared);
}

/** `a`, `a or b`, `a, b or c`. */
export function list(words: readonly string[], last: 'or' | 'and' = 'or'): string {
  if (words.length < 2) return words[0] ?? '';
  return `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;
}

/** A text as it is; anything else as JSON. */
export function plain(compared: unknown): string {
  return typeof compared === 'string' ? compared : (JSON.stringify(compared) ?? 'nothing');
}
