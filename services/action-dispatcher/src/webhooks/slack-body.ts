import {
  Alert,
  type AuditRecord,
  alertChanged,
  BreakerChanged,
  type BudgetReached,
  breakerChanged,
  ControlOrder,
  controlOrdered,
  guardrailTriggered,
  Trigger,
} from '@agentlens/contracts';
import { visible } from '@agentlens/contracts/visible';
import {
  APPROVAL_CHANGED,
  AUDIT_RECORDED,
  BUDGET_REACHED,
  nameOfBreaker,
  WEBHOOK_TEST,
  type WebhookMessage,
} from './webhook-notice.ts';

/** Parts of a message. `facts` are short lines below the text. */
interface Words {
  readonly title: string;
  readonly text: string;
  readonly facts: readonly string[];
  /** Label of the button. */
  readonly open: string;
}

const WORDS: Readonly<Record<string, (data: unknown) => Words>> = {
  [APPROVAL_CHANGED]: (data) => approvalWords(Alert.parse(data)),
  [alertChanged.name]: (data) => alertWords(Alert.parse(data)),
  [guardrailTriggered.name]: (data) => triggerWords(Trigger.parse(data)),
  [controlOrdered.name]: (data) => orderWords(ControlOrder.parse(data)),
  [breakerChanged.name]: (data) => breakerWords(BreakerChanged.parse(data)),
  [AUDIT_RECORDED]: (data) => changeWords(data as AuditRecord),
  [BUDGET_REACHED]: (data) => budgetWords(data as BudgetReached),
  [WEBHOOK_TEST]: () => ({
    title: 'AgentLens can reach this channel',
    text: 'This is a test.',
    facts: [],
    open: 'Open AgentLens',
  }),
};

/** Slack rejects sections of more than 3,000 characters; title and text share one. */
const MAX_TITLE = 400;
const MAX_TEXT = 2_500;
const MAX_FACTS = 1_000;

/** Body of a Slack incoming webhook: blocks, and a plain text for notifications. */
export function slackBody(message: WebhookMessage, link: string | undefined): object {
  const words = WORDS[message.type]?.(message.data) ?? unknownWords(message);
  const title = escaped(words.title, MAX_TITLE);
  const text = escaped(words.text, MAX_TEXT);
  const facts = escaped(words.facts.join(' · '), MAX_FACTS);
  const linked = link === undefined ? [] : [button(words.open, link)];
  return {
    text: title,
    blocks: [
      section(text === '' ? `*${title}*` : `*${title}*\n${text}`),
      ...(facts === '' ? [] : [{ type: 'context', elements: [{ type: 'mrkdwn', text: facts }] }]),
      ...linked,
    ],
  };
}

function approvalWords(alert: Alert): Words {
  const { status, title, message, decidedBy, reason, expiresAt } = alert;
  const facts = [...placeOf(alert), ...(expiresAt === undefined ? [] : [`until ${expiresAt}`])];
  if (status === 'pending') return { title: `Approval needed: ${title}`, text: message, facts, open: 'Decide' };
  const who = decidedBy === undefined ? '' : ` by ${decidedBy}`;
  return { title: `Approval ${status}${who}: ${title}`, text: reason ?? '', facts: placeOf(alert), open: 'Open' };
}

function alertWords(alert: Alert): Words {
  const { status, severity, title, message, reason, decidedBy, acknowledgedBy } = alert;
  const facts = [severity, ...placeOf(alert)];
  if (status === 'pending') return { title, text: message, facts, open: 'Open the alert' };
  const who = status === 'acknowledged' ? acknowledgedBy : decidedBy;
  const by = who === undefined ? '' : ` by ${who}`;
  return { title: `${title}: ${status}${by}`, text: reason ?? '', facts, open: 'Open the alert' };
}

function triggerWords(trigger: Trigger): Words {
  const facts = [...placeOf(trigger), `action ${trigger.actionType}`];
  return { title: `Rule fired: ${trigger.ruleName}`, text: trigger.message, facts, open: 'Open the rule' };
}

const ORDERED = { running: 'resumed', paused: 'paused', killed: 'killed' } as const;

function orderWords({ scope, scopeId, state, by, reason }: ControlOrder): Words {
  const what = scope === 'tenant' ? 'Every agent was' : `The ${scope} ${scopeId} was`;
  return { title: `${what} ${ORDERED[state]} by ${by}`, text: reason, facts: [], open: 'Open' };
}

function breakerWords(change: BreakerChanged): Words {
  const { scope, agentId, state } = change;
  const [is, why] = state.kind === 'closed' ? ['closed', ''] : ['open', `Calls are blocked. Reason: ${state.reason}.`];
  const facts = scope === 'agent' ? [] : [`agent ${agentId}`];
  return { title: `Circuit breaker of ${nameOfBreaker(change)} is ${is}`, text: why, facts, open: 'Open' };
}

function changeWords({ kind, targetId, actor, reason }: AuditRecord): Words {
  const who = actor === null ? '' : ` by ${actor.person ?? actor.keyName}`;
  return { title: `${kind} ${targetId}${who}`, text: reason ?? '', facts: [], open: 'Open the audit' };
}

function budgetWords({ budget, scopeId, spentUsd, share }: BudgetReached): Words {
  const is = share === 1 ? 'is spent' : `is at ${Math.floor((spentUsd / budget.limitUsd) * 100)} %`;
  const facts = [`${budget.scope} ${scopeId}`, `${spentUsd} of ${budget.limitUsd} USD`, `per ${budget.period}`];
  return { title: `Budget ${budget.name} ${is}`, text: '', facts, open: 'Open the budget' };
}

function unknownWords({ type }: WebhookMessage): Words {
  return { title: `AgentLens: ${type}`, text: '', facts: [], open: 'Open AgentLens' };
}

function placeOf({ agentId, runId }: { readonly agentId: string; readonly runId?: string | undefined }): string[] {
  return [`agent ${agentId}`, ...(runId === undefined ? [] : [`run ${runId}`])];
}

/** A block of text in Slack's markup. */
export function section(text: string) {
  return { type: 'section', text: { type: 'mrkdwn', text } };
}

function button(text: string, url: string) {
  return { type: 'actions', elements: [{ type: 'button', text: { type: 'plain_text', text }, url }] };
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** A character as Slack shows it: three of them would begin a mention or a link. */
export function escapeSlack(character: string): string {
  return ENTITIES[character] ?? character;
}

/** Escapes Slack's control characters, so that text of agents cannot mention a channel, and truncates it. */
function escaped(text: string, most: number): string {
  let written = '';
  for (const character of visible(text)) {
    const next = escapeSlack(character);
    if (written.length + next.length >= most) return `${written}…`;
    written += next;
  }
  return written;
}
