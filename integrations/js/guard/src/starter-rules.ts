import type { JsonRecord } from './hosts/host.ts';

/** Name of the ruleset on the platform. */
export const STARTER_RULESET = 'coding-agents';

interface StarterRule extends JsonRecord {
  readonly key: string;
  readonly name: string;
}

const tagged = (...tags: readonly string[]) => ({
  conditionType: 'tool_tag',
  conditionConfig: { operator: 'anyOf', tags },
});
const block = (message: string) => ({ actionType: 'block', actionConfig: { message }, onMissing: 'block' });
const approve = (title: string) => ({ actionType: 'require_approval', actionConfig: { title }, onMissing: 'block' });

/**
 * Rules for every coding agent. They select by tags that the guard works out on the developer's machine, so one set
 * serves all hosts and needs no patterns.
 */
const RULES: readonly StarterRule[] = [
  {
    key: 'guard-files',
    name: 'Coding agents do not change their guard',
    selector: { toolTagsAll: ['guard-files'], toolTagsAny: ['write', 'shell'] },
    ...tagged('guard-files'),
    ...block('This call touches the settings of the guard. Leave them as they are.'),
  },
  {
    key: 'secrets-leave',
    name: 'Secrets do not leave with a call',
    selector: { toolTagsAll: ['secret-value'], toolTagsAny: ['network', 'mcp', 'publish'] },
    ...tagged('secret-value'),
    ...block('This call contains a secret and reaches the network. Remove the secret.'),
  },
  {
    key: 'secret-files',
    name: 'Files with secrets need approval',
    selector: { toolTagsAll: ['secret-path'] },
    ...tagged('secret-path'),
    ...approve('Let the coding agent use a file with secrets?'),
  },
  {
    key: 'destructive',
    name: 'Destructive commands need approval',
    selector: { toolTagsAll: ['destructive'] },
    ...tagged('destructive'),
    ...approve('Let the coding agent destroy this?'),
  },
  {
    key: 'publish',
    name: 'Publishing needs approval',
    selector: { toolTagsAll: ['publish'] },
    ...tagged('publish'),
    ...approve('Let the coding agent publish this?'),
  },
  {
    key: 'outside-project',
    name: 'Writing outside of the project needs approval',
    selector: { toolTagsAll: ['outside-project'], toolTagsAny: ['write', 'shell'] },
    ...tagged('outside-project'),
    ...approve('Let the coding agent write outside of its project?'),
  },
  {
    key: 'open-shells',
    name: 'Codex opens no interactive shells',
    selector: { toolTagsAll: ['interactive', 'host:codex'] },
    ...tagged('interactive'),
    ...block('Run one command at a time: input to an open shell is not supervised.'),
  },
  {
    key: 'opaque-network',
    name: 'Unreadable commands that reach the network need approval',
    selector: { toolTagsAll: ['opaque', 'network'] },
    ...tagged('opaque'),
    ...approve('Let the coding agent run a command that cannot be read?'),
  },
];

/**
 * A rule about repetition needs the history of each call that it selects, so it names its agents: for every agent of
 * the tenant it would send all calls to the evaluator.
 */
const loops = (agents: readonly string[]): StarterRule => ({
  key: 'loops',
  name: 'A call that repeats eight times ends the run',
  selector: {
    agentSlugsAny: agents,
    toolTagsAny: ['shell', 'write', 'read', 'network', 'mcp', 'agent', 'other'],
  },
  conditionType: 'repeated_call',
  conditionConfig: { times: 8, sameResult: false },
  actionType: 'terminate_run',
  actionConfig: { message: 'The same call was made too often' },
});

/** An event rule: it raises an alert when a host ran a call that was refused or never asked about. */
const reportIgnored = (agentId: string): StarterRule => ({
  key: `refusals-ignored-${agentId}`,
  // One list shows the rules of all agents.
  name: `${agentId} ran a call that was not allowed`,
  agentId,
  conditionType: 'custom_metric',
  conditionConfig: { metricKeyPath: 'denyIgnored', operator: 'gte', value: 1, windowMinutes: 5, aggregate: 'max' },
  actionType: 'raise_alert',
  actionConfig: { severity: 'critical' },
  cooldownMinutes: 0,
});

/** @param agents slugs that the rules without tags of the guard apply to; the event rule is one per agent */
export function starterRules(mode: 'shadow' | 'enforce', agents: readonly string[]): StarterRule[] {
  const decisions = [...RULES, loops(agents)].map((rule) => ({ ...rule, mode }));
  // The alert stops nothing, so it is on from the first day.
  return [...decisions, ...agents.map(reportIgnored)];
}
