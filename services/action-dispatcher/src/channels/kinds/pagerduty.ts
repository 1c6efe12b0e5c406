import { type Alert, sha256Hex } from '@agentlens/contracts';
import { visible } from '@agentlens/contracts/visible';
import { type HttpChannelKind, linkToAlert, type Notice, outcomeText, post, readStatus } from '../notice.ts';

interface PagerDutyConfig {
  readonly routingKey: string;
  readonly url?: string | undefined;
}

const EVENTS_URL = 'https://events.pagerduty.com';
/** PagerDuty answers 400 to more, which would lose the page. It counts characters. */
const MAX_SUMMARY = 1_024;
const MAX_KEY = 255;
const MAX_DETAILS_BYTES = 400_000;

/** Events v2: one incident for each alert, which the end of the alert resolves. */
export const pagerDuty: HttpChannelKind<PagerDutyConfig> = {
  secrets: ['routingKey'],
  shows: 'single',
  address: ({ url }) => url ?? null,
  target: ({ url }) => (url === undefined ? 'PagerDuty' : `PagerDuty at ${URL.parse(url)?.origin ?? ''}`),
  render(config, notice) {
    const event = notice.reason === 'test' ? testEvent(notice) : eventFrom(notice);
    if (event === undefined) return undefined;
    const url = `${(config.url ?? EVENTS_URL).replace(/\/+$/, '')}/v2/enqueue`;
    return { request: post(url, { routing_key: config.routingKey, ...event }) };
  },
  read(response, notice, nowMs) {
    const outcome = readStatus(response, nowMs);
    const [id] = [...[...notice.firing, ...notice.resolved].map((alert) => alert.id), ...(notice.deleted ?? [])];
    if (outcome.kind !== 'delivered') return outcome;
    return { ...outcome, receipt: id === undefined ? 'test' : dedupKey(notice.tenantId, id) };
  },
};

function eventFrom(notice: Notice) {
  const [firing] = notice.firing;
  const [ended] = notice.resolved;
  if (firing !== undefined) return { event_action: 'trigger', ...fieldsOf(notice, firing) };
  if (ended === undefined) return endDeleted(notice);
  return {
    event_action: 'resolve',
    dedup_key: dedupKey(notice.tenantId, ended.id),
    payload: payloadOf(ended, outcomeText(ended)),
  };
}

/** The key is all that is left of the alert, and all that the end of its incident needs. */
function endDeleted({ tenantId, deleted: [id] = [] }: Notice) {
  return id === undefined ? undefined : { event_action: 'resolve', dedup_key: dedupKey(tenantId, id) };
}

function fieldsOf(notice: Notice, alert: Alert) {
  const link = linkToAlert(notice, alert);
  return {
    dedup_key: dedupKey(notice.tenantId, alert.id),
    client: 'AgentLens',
    ...(link === undefined ? {} : { client_url: link, links: [{ href: link, text: 'Open in AgentLens' }] }),
    payload: payloadOf(alert, alert.message),
  };
}

function payloadOf(alert: Alert, message: string) {
  const details = { message: visible(message), agent: alert.agentId, run: alert.runId, rule: alert.ruleId };
  const fits = Buffer.byteLength(JSON.stringify(details)) <= MAX_DETAILS_BYTES;
  return {
    summary: Array.from(visible(alert.title)).slice(0, MAX_SUMMARY).join('') || 'Alert',
    source: visible(alert.agentId),
    severity: alert.severity === 'warn' ? 'warning' : alert.severity,
    timestamp: alert.createdAt,
    class: alert.kind,
    ...(fits ? { custom_details: details } : {}),
  };
}

/** A test opens no incident: it resolves one that does not exist. */
function testEvent({ tenantId, id }: Notice) {
  return {
    event_action: 'resolve',
    dedup_key: dedupKey(tenantId, id),
    payload: { summary: 'Test of AgentLens', source: 'agentlens', severity: 'info' },
  };
}

function dedupKey(tenantId: string, alertId: string): string {
  const key = `agentlens:${tenantId}:${alertId}`;
  return key.length <= MAX_KEY ? key : sha256Hex(key);
}
