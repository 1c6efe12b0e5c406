import { type ComparedRule, ruleDifferences, ruleWords } from './rule-words.ts';

type State = Readonly<Record<string, unknown>>;

/** The members of an entry of the audit that its words need. */
export interface WordedChange {
  readonly kind: string;
  readonly targetId: string;
  readonly before: State | null;
  readonly after: State | null;
}

/** What an order did, by its state. */
const ORDER_WORDS: Readonly<Record<string, string>> = { killed: 'killed', paused: 'paused', running: 'resumed' };

/** Fields that every change has, and that say nothing about what a person did. */
const BOOKKEEPING = /^(id|tenantId|version|meaningVersion|createdAt|updatedAt|dryRun)$/;

/** What a change did, one part after another: `When: eur is more than 5,000 → eur is more than 5`, `killed`. */
export function changeWords({ kind, before, after }: WordedChange): string[] {
  if (kind === 'order.given') return [ORDER_WORDS[String(after?.state)] ?? String(after?.state)];
  if (kind === 'agent.unpaused' || kind.startsWith('alert.') || kind.endsWith('.deleted')) return [];
  if (isRule(after)) {
    if (before === null) return [`${String(after.mode ?? 'enforce')}: ${ruleWords(after)}`];
    if (isRule(before)) {
      // A new name is least of what a rule does, and stands beside these words.
      const changed = ruleDifferences(before, after).toSorted(
        (a, b) => Number(isLabel(a.name)) - Number(isLabel(b.name)),
      );
      if (changed.length > 0) return changed.map((part) => `${part.name}: ${part.before} → ${part.after}`);
    }
  }
  if (kind === 'deploy.recorded') return fieldWords(null, without(after, ['version', 'agentId']));
  return fieldWords(before, after);
}

function without(state: State | null, fields: readonly string[]): State {
  return Object.fromEntries(Object.entries(state ?? {}).filter(([field]) => !fields.includes(field)));
}

/** What a change is about: its name, the tool of an approval, the version of a deploy. Undefined: only its id is known. */
export function changedName({ kind, before, after }: WordedChange): string | undefined {
  const state = { ...before, ...after };
  if (kind === 'deploy.recorded' && typeof state.version === 'string')
    return typeof state.agentId === 'string' ? `${state.version} of ${state.agentId}` : state.version;
  if (kind.startsWith('alert.')) return callName(state);
  return typeof state.name === 'string' ? state.name : undefined;
}

/** `refund of support-bot` for an approval, the title of any other alert. */
function callName({ approval, agentId, title }: State): string | undefined {
  const toolName = typeof approval === 'object' && approval !== null && 'toolName' in approval && approval.toolName;
  if (typeof toolName === 'string') return typeof agentId === 'string' ? `${toolName} of ${agentId}` : toolName;
  return typeof title === 'string' ? title : undefined;
}

const isLabel = (part: string) => part === 'Name' || part === 'Description';

function fieldWords(before: State | null, after: State | null): string[] {
  return [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
    .filter((field) => !BOOKKEEPING.test(field) && (before !== null || field !== 'name'))
    .map((field) => [field, shown(before?.[field]), shown(after?.[field])] as const)
    .filter(([, was, is]) => was !== is)
    .map(([field, was, is]) => (before === null ? `${field}: ${is}` : `${field}: ${was} → ${is}`));
}

function shown(value: unknown): string {
  if (value === undefined || value === null) return 'none';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** An entry of the audit may be older than the form of today's rules. */
function isRule(state: State | null): state is State & ComparedRule {
  if (state === null) return false;
  const { name, conditionType, conditionConfig, actionType, actionConfig } = state;
  return (
    [name, conditionType, actionType].every((one) => typeof one === 'string') &&
    isObject(conditionConfig) &&
    isObject(actionConfig)
  );
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** By the type of a message, and by the status that it tells. */
const NOTICE_WORDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'approval.changed': {
    pending: 'approval requested',
    approved: 'call approved',
    denied: 'call denied',
    expired: 'approval expired',
    cancelled: 'approval closed',
  },
  'alert.changed': { pending: 'alert raised', acknowledged: 'alert acknowledged', cancelled: 'alert closed' },
  'control.order': ORDER_WORDS,
  'breaker.changed': { open: 'breaker opened', half_open: 'breaker lets one call through', closed: 'breaker closed' },
  'guardrail.triggered': { '': 'rule fired' },
  'budget.reached': { '': 'budget reached' },
  'audit.recorded': { '': 'change recorded' },
};

/** What a message to a receiver said: `canary-bot: killed`. A message of a new kind is named by its type. */
export function noticeWords({
  event = '',
  status = '',
  agentId,
}: {
  readonly event?: string | undefined;
  readonly status?: string | undefined;
  readonly agentId: string;
}): string {
  const told =
    NOTICE_WORDS[event]?.[status] ??
    NOTICE_WORDS[event]?.[''] ??
    [event, status].filter((word) => word !== '').join(' ');
  return [agentId, told].filter((part) => part !== '').join(': ');
}
