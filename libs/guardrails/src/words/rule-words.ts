import { choice, counted, list, plain, value } from './choice-words.ts';
import { conditionWords, toolsWords } from './condition-words.ts';
import { defaultOnUnavailable } from './on-unavailable.ts';

type Config = Readonly<Record<string, unknown>>;

/** The members of a rule or a draft that its words need. */
export interface WordedRule {
  readonly conditionType: string;
  readonly conditionConfig: Config;
  readonly actionType: string;
  readonly actionConfig: Config;
  readonly agentId?: string | null | undefined;
  readonly toolNames?: readonly string[] | undefined;
  readonly selector?: Config | null | undefined;
  readonly onMissing?: 'allow' | 'block' | undefined;
  readonly onUnavailable?: 'allow' | 'block' | undefined;
  readonly cooldownMinutes?: number | undefined;
}

/** The parts of a rule, each in words. Two rules that act differently differ in at least one part. */
export interface RuleParts {
  readonly action: string;
  readonly condition: string;
  readonly agents: string;
  /** What the action uses: messages, deadlines, addresses. Empty if there is nothing to say. */
  readonly details: string;
  /** What happens if the rule cannot be evaluated, or how long it rests after it fired. */
  readonly fallback: string;
}

/** Says what a rule does: "Block calls of pay_* when amount is more than 1,000, for every agent; …". */
export function ruleWords(rule: WordedRule): string {
  const { action, condition, agents, details, fallback } = rulePartsInWords(rule);
  return `${[`${action} when ${condition}, for ${agents}`, details, fallback].filter((part) => part !== '').join('; ')}.`;
}

export function rulePartsInWords(rule: WordedRule): RuleParts {
  const { actionType, actionConfig, conditionType, conditionConfig } = rule;
  const words = ACTION_WORDS[actionType];
  const calls = callsWords(rule);
  return {
    action: words?.says(actionConfig, calls) ?? `Take the action ${actionType.replaceAll('_', ' ')} on ${calls}`,
    condition: conditionWords({ type: conditionType, config: conditionConfig }),
    agents: agentsWords(rule),
    details: (words?.details?.(actionConfig) ?? []).filter((part) => part !== '').join(', '),
    fallback: actsOnEvents(actionType)
      ? restWords(rule.cooldownMinutes ?? 15)
      : `if a value is missing: ${choice(rule.onMissing ?? 'allow')}; if it cannot be evaluated in time: ${choice(rule.onUnavailable ?? defaultOnUnavailable(rule.actionType))}`,
  };
}

/** Whether an action follows an event that has arrived, not a question before a call. */
export function actsOnEvents(actionType: string): boolean {
  return ACTION_WORDS[actionType]?.onEvents === true;
}

function restWords(cooldownMinutes: number): string {
  return cooldownMinutes === 0 ? 'each time' : `at most once in ${counted(cooldownMinutes, 'minute')}`;
}

interface ActionWords {
  says(config: Config, calls: string): string;
  details?(config: Config): string[];
  /** True if it acts on events that have arrived, not on a call that an agent asks about. */
  readonly onEvents?: true;
}

const MESSAGE = { details: ({ message }: Config) => [labeled('message', message)] };

const ACTION_WORDS: Readonly<Record<string, ActionWords>> = {
  block: { says: (_, calls) => `Block ${calls}`, ...MESSAGE },
  terminate_run: { says: (_, calls) => `End the run on ${calls}`, ...MESSAGE },
  require_approval: {
    says: (_, calls) => `Ask a human about ${calls}`,
    details: ({ title, expiresInSeconds = 900 }) => [
      labeled('question', title),
      `denied after ${time(expiresInSeconds)}`,
    ],
  },
  modify_arguments: {
    says: (config, calls) => `Change the arguments of ${calls} (${list(changesWords(config), 'and')})`,
  },
  allow: { says: (_, calls) => `Allow ${calls}` },
  pause_agent: { says: () => 'Pause the agent', ...MESSAGE, onEvents: true },
  notify_webhook: {
    says: ({ url }) => `Call the webhook ${plain(url)}`,
    details: ({ headers, secret }) => [
      headers === undefined ? '' : 'with extra headers',
      secret === undefined ? '' : 'signed',
    ],
    onEvents: true,
  },
  downgrade_model: {
    says: ({ targetModel }) => `Use the model ${plain(targetModel)} instead`,
    ...MESSAGE,
    onEvents: true,
  },
  agentgate_policy: {
    says: ({ policyId = 'default', action = 'restrict' }) => `Set the policy ${plain(policyId)} to ${plain(action)}`,
    details: ({ agentgateUrl, apiKey }) => [
      `on the AgentGate server ${plain(agentgateUrl)}`,
      apiKey === undefined ? '' : 'with an API key',
    ],
    onEvents: true,
  },
  raise_alert: {
    says: ({ severity = 'warn' }) => `Raise an alert (${choice(severity)})`,
    details: ({ title, message, webhookUrl, webhookAlso, secret }) => [
      labeled('title', title),
      labeled('message', message),
      webhookUrl === undefined ? '' : `webhook ${plain(webhookUrl)}${secret === undefined ? '' : ', signed'}`,
      Array.isArray(webhookAlso) ? `also about ${list(webhookAlso.map(choice), 'and')} of these agents` : '',
    ],
    onEvents: true,
  },
};

/** True if the action has words of its own. */
export function hasActionWords(type: string): boolean {
  return Object.hasOwn(ACTION_WORDS, type);
}

function labeled(label: string, text: unknown): string {
  return text === undefined ? '' : `${label} ${value(text)}`;
}

/** `15 minutes`, `90 seconds`. */
function time(seconds: unknown): string {
  if (typeof seconds !== 'number' || seconds % 60 !== 0) return counted(seconds, 'second');
  return counted(seconds / 60, 'minute');
}

function changesWords({ set, remove, redact }: Config): string[] {
  return [
    ...Object.entries((set ?? {}) as Config).map(([path, to]) => `set ${path} to ${value(to)}`),
    ...(Array.isArray(remove) ? [`remove ${list(remove.map(String), 'and')}`] : []),
    ...(Array.isArray(redact) ? [`redact what looks like ${list(redact.map(choice))}`] : []),
  ];
}

/** `calls of send_email or pay_*`, `model calls`, `results of search`. */
function callsWords({ conditionType, toolNames, selector }: WordedRule): string {
  const { phases, ...selects } = selector ?? {};
  const tools = toolsWords({ ...selects, tools: selects.tools ?? (toolNames?.length ? toolNames : undefined) });
  const about: Readonly<Record<string, string>> = {
    'tool.before': `calls of ${tools}`,
    'tool.after': `results of ${tools}`,
    'llm.before': 'model calls',
    'llm.after': 'answers of models',
  };
  return list(
    (Array.isArray(phases) ? phases : [defaultPhase(conditionType)]).map(
      (phase) => about[String(phase)] ?? String(phase),
    ),
    'and',
  );
}

/** The phase of a rule that names none. */
export function defaultPhase(conditionType: string): string {
  return conditionType === 'execution_time' ? 'tool.after' : 'tool.before';
}

function agentsWords({ agentId, selector }: WordedRule): string {
  const { agentSlugsAny, agentTagsAll, agentTagsAny } = selector ?? {};
  const named = agentId ?? (Array.isArray(agentSlugsAny) ? list(agentSlugsAny.map(String)) : '');
  const also = agentId != null && Array.isArray(agentSlugsAny) ? ` if it is ${list(agentSlugsAny.map(String))}` : '';
  const tags = [
    ...(Array.isArray(agentTagsAny) ? [list(agentTagsAny.map(String))] : []),
    ...(Array.isArray(agentTagsAll) ? [list(agentTagsAll.map(String), 'and')] : []),
  ];
  if (tags.length === 0) return `${named || 'every agent'}${also}`;
  return `${named || 'agents'}${also} tagged ${tags.join(', and also ')}`;
}

type Limits = Readonly<Record<string, string | number | undefined>> | null | undefined;

/** A rule or a draft, with the members that its parts in words do not cover. */
export interface ComparedRule extends WordedRule {
  readonly name: string;
  readonly description?: string | undefined;
  readonly priority?: number | undefined;
  readonly mode?: string | undefined;
  readonly enabled?: boolean | undefined;
  readonly dryRun?: boolean | undefined;
  readonly rollout?: { readonly percent: number; readonly by?: string | undefined } | null | undefined;
  readonly guard?: Limits;
  readonly rollback?: Limits;
  readonly suspended?: Limits;
}

export interface RuleDifference {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** The parts in which two versions of a rule differ, each in words. */
export function ruleDifferences(before: ComparedRule, after: ComparedRule): RuleDifference[] {
  const [old, now] = [comparedParts(before), comparedParts(after)];
  return old.flatMap(([name, words], index): RuleDifference[] => {
    const next = now[index]?.[1] ?? '';
    return words === next ? [] : [{ name, before: words, after: next }];
  });
}

function comparedParts(rule: ComparedRule): [string, string][] {
  const { action, condition, agents, details, fallback } = rulePartsInWords(rule);
  return [
    ['Name', rule.name],
    ['Description', rule.description ?? 'none'],
    ['Mode', modeWords(rule)],
    ['Action', action],
    ['When', condition],
    ['Agents', agents],
    ['Details', details],
    ['Otherwise', fallback],
    ['Priority', String(rule.priority ?? 0)],
    ['Promotion guard', limitsWords(rule.guard)],
    ['Rollback', limitsWords(rule.rollback)],
    ['Suspended', limitsWords(rule.suspended)],
  ];
}

/** `minAsked` becomes `min asked 50`. */
function limitsWords(limits: Limits): string {
  const set = Object.entries(limits ?? {}).filter(([, limit]) => limit !== undefined);
  if (set.length === 0) return 'none';
  return set
    .map(([name, limit]) => `${name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)} ${limit}`)
    .join(', ');
}

const UNITS: Readonly<Record<string, string>> = { tree: 'run trees', actor: 'end users' };

function modeWords({ mode, enabled, dryRun, rollout }: ComparedRule): string {
  if (enabled === false || mode === 'off') return 'off';
  if (mode === 'shadow' || dryRun === true) return 'shadow';
  if (mode !== 'canary') return 'enforce';
  return `canary${rollout == null ? '' : ` at ${rollout.percent} % of ${UNITS[rollout.by ?? 'tree'] ?? `${rollout.by}s`}`}`;
}
