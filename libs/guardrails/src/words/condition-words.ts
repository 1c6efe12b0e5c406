import { choice, choiceAmong, counted, list, number, plain, value } from './choice-words.ts';

type Config = Readonly<Record<string, unknown>>;

/** A condition of the catalog, at the top of a rule or nested in a group. */
export interface WordedCondition {
  readonly type: string;
  readonly config: Config;
}

interface Tools {
  readonly tools?: unknown;
  readonly toolTagsAll?: unknown;
  readonly toolTagsAny?: unknown;
}

/**
 * A condition as the clause of a sentence: "amount is more than 1,000". Every value of the config appears in it. A type
 * without words is returned with its name, so a console older than the platform stays readable.
 */
export function conditionWords({ type, config }: WordedCondition): string {
  const words = WORDS[type];
  return words === undefined ? `the condition ${type.replaceAll('_', ' ')} matches` : words(config);
}

/** True if the condition has words of its own. */
export function hasConditionWords(type: string): boolean {
  return Object.hasOwn(WORDS, type);
}

const WORDS: Readonly<Record<string, (config: Config) => string>> = {
  error_rate_threshold: ({ threshold = 30, windowMinutes = 5, of = 'events', minEvents = 1 }) =>
    `at least ${number(threshold)} % of its ${choice(of)} failed within ${counted(windowMinutes, 'minute')}, out of at least ${number(minEvents)}`,
  cost_limit: ({ maxCostUsd = 10, scope = 'daily' }) =>
    `the cost of ${choice(scope)}${scope === 'daily' ? ' (UTC)' : ''} is at least $${number(maxCostUsd)}`,
  health_score_threshold: ({ minScore = 50, windowDays = 7 }) =>
    `its health score over ${counted(windowDays, 'day')} is less than ${counted(minScore, 'point')}`,
  custom_metric: ({ metricName, metricKeyPath, operator = 'gt', value: limit = 0, windowMinutes = 60, aggregate }) =>
    `${aggregate === undefined ? '' : `${choice(aggregate)} of `}${listed([metricKeyPath, metricName]).join(' at ')} over ${counted(windowMinutes, 'minute')} ${choice(operator)} ${number(limit)}`,
  same_call: ({ times = 3 }) => `one run made exactly the same tool call ${counted(times, 'time')}`,
  tool_name: ({ operator = 'glob', value: name }) =>
    `the name of the tool ${choice(operator)} ${list(listed(name), 'or')}`,
  tool_tag: ({ operator = 'anyOf', tags }) =>
    `the tool has the tag ${list(listed(tags), operator === 'allOf' ? 'and' : 'or')}`,
  tool_argument: argumentWords,
  enduser_tag: ({ tag, operator = 'has', values }) =>
    operator === 'has'
      ? `the end user has the tag ${plain(tag)}`
      : `the tag ${plain(tag)} of the end user ${choice(operator)} ${value(values)}`,
  subject: ({ subjectType, value: id, role, idSystem }) =>
    `the call is about a subject of the kind ${plain(subjectType)}${id === undefined ? '' : ` with the id ${value(id)}`}${role === undefined ? '' : ` in the role ${plain(role)}`}${idSystem === undefined ? '' : ` of the id system ${plain(idSystem)}`}`,
  signal: ({ key, operator = 'eq', value: limit, onMissing }) =>
    `the signal ${plain(key)} ${choice(operator)} ${value(limit)}${absent('it is absent', onMissing)}`,
  sequence: ({ mustHaveCalled, mustNotHaveCalled, scope }) =>
    list([
      ...choices(mustHaveCalled).map((tools) => `${whose(scope)} has not called ${tools} before`),
      ...choices(mustNotHaveCalled).map((tools) => `${whose(scope)} has called ${tools} before`),
    ]),
  max_calls: ({ max, per = 'run', scope, windowMinutes, appliesTo = 'counted', ...tools }) =>
    `${per === 'run' ? whose(scope) : choice(per)} has made ${counted(max, 'call')} of ${toolsWords(tools)}${windowMinutes === undefined ? '' : ` within ${counted(windowMinutes, 'minute')}`}; it stops ${choice(appliesTo)}`,
  repeated_call: ({ times = 3, sameResult = true, scope }) =>
    `${whose(scope)} has made exactly this call ${counted(times, 'time')} before${sameResult === true ? ', with the same result each time' : ''}`,
  data_flow: flowWords,
  metric_window: ({
    metric,
    aggregate = 'sum',
    operator = 'gt',
    value: limit,
    scope = 'run',
    windowMinutes,
    onMissing,
  }) =>
    `${choice(aggregate)} of ${plain(metric)} of ${choice(scope)}${windowMinutes === undefined ? '' : ` over ${counted(windowMinutes, 'minute')}`} ${choice(operator)} ${number(limit)}${absent('nothing was reported', onMissing)}`,
  execution_time: ({ scope = 'tool', operator = 'gt', ms }) =>
    `the time of ${choice(scope)} ${choice(operator)} ${number(ms)} ms`,
  time_gate: ({ timeZone, timeZoneTag, windows }) =>
    `the time ${zone(timeZone, timeZoneTag)} is ${list(records(windows).map(windowWords))}`,
  sensitive_data: ({ in: part = 'arguments', path, operator = 'anyOf', detectors }) =>
    `${choice(part)}${path === undefined ? '' : ` at ${plain(path)}`} contain${part === 'result' ? 's' : ''} ${list(records(detectors).map(detectorWords), operator === 'allOf' ? 'and' : 'or')}`,
  expression: ({ expression }) => `the expression “${plain(expression)}” is true`,
  all: ({ conditions }) => list(nested(conditions), 'and'),
  any: ({ conditions }) => list(nested(conditions), 'or'),
  not: ({ condition }) => `not (${conditionWords(conditionOf(condition))})`,
};

/** Whose calls a condition looks at. */
function whose(scope: unknown = 'run'): string {
  return choiceAmong(['run'], scope);
}

const CARRIED: Readonly<Record<string, string>> = {
  carried: ', and the arguments carry a part of it',
  proven: ', and the arguments contain a whole value of it',
};

function flowWords({ after, afterDenied, label, grade, notData, clearedBy }: Config): string {
  const read = choices(after);
  const denied = choices(afterDenied);
  const causes = [
    ...(read.length === 0 ? [] : [`data labeled ${plain(label)} was read earlier in the run tree by ${list(read)}`]),
    ...(denied.length === 0
      ? []
      : [`an approval of ${list(denied)} failed earlier in the run tree (label ${plain(label)})`]),
  ];
  const cleared = clearedBy === undefined ? '' : ` and not cleared by ${list(choices(clearedBy))}`;
  const leftOut = notData === undefined ? '' : ` other than its ${list(listed(notData), 'and')}`;
  return `${list(causes)}${cleared}${CARRIED[String(grade)] ?? ''}${leftOut}`;
}

function argumentWords({ path, type = 'string', operator = 'eq', value: compared }: Config): string {
  const what = path === undefined ? 'any text in the arguments' : plain(path);
  if (compared === undefined) return `${what} ${choice(operator)}`;
  // A number or a truth value says its type itself; a text that looks like one does not.
  const asType = typeof compared === type || type === 'string' ? '' : ` as ${choice(type)}`;
  return `${what}${asType} ${choice(operator)} ${value(compared)}`;
}

export const ANY_TOOL = 'any tool';

/** `send_email or pay_*`, `tools tagged payment`. */
export function toolsWords({ tools, toolTagsAll, toolTagsAny }: Tools): string {
  const tags = [
    ...(toolTagsAny === undefined ? [] : [list(listed(toolTagsAny))]),
    ...(toolTagsAll === undefined ? [] : [list(listed(toolTagsAll), 'and')]),
  ];
  const named = tools === undefined ? '' : list(listed(tools));
  if (tags.length === 0) return named || ANY_TOOL;
  return `${named || 'tools'} tagged ${tags.join(', and also ')}`;
}

function absent(what: string, onMissing: unknown): string {
  return onMissing === undefined ? '' : ` (if ${what}: ${choice(onMissing)})`;
}

function zone(timeZone: unknown, tag: unknown): string {
  if (tag === undefined) return `in ${plain(timeZone)}`;
  const fallback = timeZone === undefined ? '' : `, else ${plain(timeZone)}`;
  return `in the time zone of the end user's tag ${plain(tag)}${fallback}`;
}

function windowWords({ days, start, end }: Config): string {
  return `on ${list(listed(days).map(choice))} from ${plain(start)} to ${plain(end)}`;
}

function detectorWords({ detector, check, operator, value: compared }: Config): string {
  if (check === undefined) return choice(detector);
  return `${choice(detector)} whose ${choice(check)} ${choice(operator)} ${value(compared)}`;
}

/** Nested groups stand in parentheses, so that "and" and "or" keep their meaning. */
function nested(conditions: unknown): string[] {
  const all = records(conditions).map(conditionOf);
  return all.map((one) => grouped(one, all.length > 1));
}

function grouped(condition: WordedCondition, beside: boolean): string {
  const words = conditionWords(condition);
  const isGroup = ['all', 'any', 'sequence'].includes(condition.type) || words.includes('; ');
  return isGroup && beside ? `(${words})` : words;
}

function conditionOf(nestedOne: unknown): WordedCondition {
  const { type, config } = (nestedOne ?? {}) as Partial<WordedCondition>;
  return { type: String(type), config: config ?? {} };
}

function choices(given: unknown): string[] {
  return records(given).map(toolsWords);
}

function records(given: unknown): Config[] {
  return Array.isArray(given) ? (given as Config[]) : [];
}

function listed(given: unknown): string[] {
  return (Array.isArray(given) ? given : [given]).filter((one) => one !== undefined).map(String);
}
