import type {
  Alert,
  AlertNotice,
  ApprovalCall,
  ChannelConfig,
  ChannelConfigOf,
  ChannelKind,
} from '@agentlens/contracts';
import { visible } from '@agentlens/contracts/visible';
import type { ActionOutcome, ActionRequest, ActionResponse } from '@agentlens/guardrails';
import { readRetryAfter } from '@agentlens/guardrails/actions';

/** What a channel shows: alerts that fire and alerts that ended, or one approval. */
export interface Notice {
  readonly id: string;
  readonly tenantId: string;
  readonly channelId: string;
  readonly reason: AlertNotice['reason'];
  readonly route: string;
  /** RFC 3339. */
  readonly at: string;
  /** Labels that the alerts of the group share. */
  readonly group: Readonly<Record<string, string>>;
  readonly firing: readonly Alert[];
  readonly resolved: readonly Alert[];
  /** Alerts that ended and were deleted since, by id. */
  readonly deleted?: readonly string[] | undefined;
  /** Alerts beyond those of the lists. */
  readonly more: number;
  /** How soon the group is looked at again; for receivers that forget alerts. */
  readonly everyMs: number;
  /** The call that an approval is about, if it can be shown. */
  readonly call?: ApprovalCall | undefined;
  /** A person may decide the approval in a chat. */
  readonly mayVote: boolean;
  /** What the receiver answered to the notice before this one about the same group or approval. */
  readonly prior?: string | undefined;
  /** The receiver refused to change what it shows. */
  readonly isFixed?: boolean | undefined;
  /** Base of links to the console. */
  readonly publicUrl?: string | undefined;
}

export type ChannelOutcome = ActionOutcome;

interface KindBase<C> {
  /** Config keys that are sealed at rest and never shown. */
  readonly secrets: readonly string[];
  /** Address that the egress guard checks when the channel is saved; null if there is none to check. */
  address(config: C): string | null;
  /** What people see of the address. */
  target(config: C): string;
  /** `grouped`: one message for the group. `single`: one for each alert. `refreshed`: like grouped, at every interval. */
  readonly shows: 'grouped' | 'single' | 'refreshed';
}

/** A receiver that takes one HTTP request. */
export interface HttpChannelKind<C> extends KindBase<C> {
  /** Undefined: this notice is nothing for the receiver. `sign` adds the headers of Standard Webhooks. */
  render(config: C, notice: Notice): RenderedNotice | undefined;
  read(response: ReceiverAnswer, notice: Notice, nowMs: number): ChannelOutcome;
  /** The notice to send instead of one that the receiver refused for good; undefined if none would do better. */
  replace?(notice: Notice, response: ReceiverAnswer): Notice | undefined;
}

export interface RenderedNotice {
  readonly request: ActionRequest;
  /** Standard Webhooks secret. */
  readonly sign?: string | undefined;
}

/** A receiver that speaks another protocol. */
export interface SpokenChannelKind<C> extends KindBase<C> {
  send(config: C, notice: Notice, tools: { readonly deliveryId: string }): Promise<ChannelOutcome>;
}

export type ReceiverAnswer = Extract<ActionResponse, { kind: 'answered' }>;
export type ChannelModule<K extends ChannelKind> =
  | HttpChannelKind<ChannelConfigOf<K>>
  | SpokenChannelKind<ChannelConfigOf<K>>;
export type AnyChannelModule = HttpChannelKind<ChannelConfig> | SpokenChannelKind<ChannelConfig>;

export function post(url: string, body: object, headers: Readonly<Record<string, string>> = {}): ActionRequest {
  return {
    method: 'POST',
    url,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  };
}

/** 2xx accepts, 408, 429 and 5xx are repeated, 410 says that the receiver is gone; anything else is final. */
export function readStatus({ status, headers, body }: ReceiverAnswer, nowMs: number): ChannelOutcome {
  if (status >= 200 && status < 300) return { kind: 'delivered', httpStatus: status, detail: `HTTP ${status}` };
  const reason = `HTTP ${status}${body === '' ? '' : `: ${visible(body).slice(0, 200)}`}`;
  if (status === 410) return { kind: 'rejected', httpStatus: status, reason, disableDestination: true };
  if (status === 408 || status === 425 || status === 429 || status >= 500) {
    const afterMs = readRetryAfter(headers, nowMs);
    return {
      kind: 'retry',
      httpStatus: status,
      reason,
      destinationDown: status >= 500,
      ...(afterMs === undefined ? {} : { afterMs }),
    };
  }
  return { kind: 'rejected', httpStatus: status, reason };
}

/** Host of an address whose path is a secret. */
export function showHost(url: string): string {
  const parsed = URL.parse(url);
  return parsed === null ? '' : `${parsed.origin}/…`;
}

export function linkToAlert({ publicUrl }: Notice, alert: Alert | undefined): string | undefined {
  if (publicUrl === undefined) return undefined;
  const base = publicUrl.replace(/\/+$/, '');
  if (alert === undefined) return `${base}/alerts`;
  return `${base}/${alert.kind === 'approval' ? 'approvals' : 'alerts'}?id=${encodeURIComponent(alert.id)}`;
}

const ENDED: Readonly<Record<Alert['status'], string>> = {
  pending: 'open',
  acknowledged: 'acknowledged',
  approved: 'approved',
  denied: 'denied',
  expired: 'expired',
  cancelled: 'ended',
};

/** One line that says what the notice is about. */
export function headline(notice: Notice): string {
  const { firing, resolved, reason, more } = notice;
  if (reason === 'test') return 'AgentLens can reach this channel';
  const [alert] = [...firing, ...resolved];
  if (alert === undefined)
    return reason === 'changed'
      ? 'This approval was deleted with its run'
      : 'Alerts that were deleted with their runs have ended';
  if (alert.kind === 'approval') return approvalHeadline(notice, alert);
  const count = firing.length + more;
  if (count === 0) return resolved.length === 1 ? `Resolved: ${line(alert)}` : `Resolved: ${resolved.length} alerts`;
  return count === 1 ? line(alert) : `${count} alerts: ${line(alert)}`;
}

function approvalHeadline({ reason }: Notice, alert: Alert): string {
  const is = alert.status === 'pending' || alert.status === 'acknowledged';
  if (!is) return `Approval ${outcomeText(alert)}: ${visible(alert.title)}`;
  return `${reason === 'escalation' ? 'Still waiting for approval' : 'Approval needed'}: ${visible(alert.title)}`;
}

function line({ title, severity }: Alert): string {
  return `[${severity}] ${visible(title)}`;
}

/** `denied by Ann (too expensive)`. */
export function outcomeText({ status, acknowledgedBy, decidedBy, reason }: Alert): string {
  const who = status === 'acknowledged' ? acknowledgedBy : decidedBy;
  const why = reason === undefined ? '' : ` (${visible(reason)})`;
  return `${ENDED[status]}${who === undefined || who === 'agentlens' ? '' : ` by ${visible(who)}`}${why}`;
}

/** `agent billing-1 · run run-1 · until 12:15`. */
export function factsOf({ agentId, runId, expiresAt, kind }: Alert): string {
  const facts = [`agent ${visible(agentId)}`];
  if (runId !== undefined) facts.push(`run ${visible(runId)}`);
  if (kind === 'approval' && expiresAt !== undefined) facts.push(`until ${expiresAt}`);
  return facts.join(' · ');
}

/** Cuts text to so many characters, whole ones. */
export function cutText(text: string, most: number): string {
  const characters = Array.from(text);
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join('')}…`;
}
