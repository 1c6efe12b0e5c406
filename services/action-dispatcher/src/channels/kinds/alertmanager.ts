import type { Alert } from '@agentlens/contracts';
import { visible } from '@agentlens/contracts/visible';
import { type HttpChannelKind, linkToAlert, type Notice, post, readStatus, showHost } from '../notice.ts';

interface AlertmanagerConfig {
  readonly url: string;
  readonly bearerToken?: string | undefined;
}

interface DescribedAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly startsAt: string;
  readonly generatorURL?: string;
}

/** An Alertmanager forgets an alert that is not sent again in time. */
const INTERVALS_TO_LIVE = 4;

/** Pushes alerts to an Alertmanager, which then routes them by its own configuration. */
export const alertmanager: HttpChannelKind<AlertmanagerConfig> = {
  secrets: ['bearerToken'],
  shows: 'refreshed',
  address: ({ url }) => url,
  target: ({ url }) => showHost(url),
  render({ url, bearerToken }, notice) {
    const alerts =
      notice.reason === 'test'
        ? [describeTest(notice)]
        : [
            ...notice.firing.map((alert) =>
              pushed(notice, alert, Date.parse(notice.at) + INTERVALS_TO_LIVE * notice.everyMs),
            ),
            ...notice.resolved.map((alert) => pushed(notice, alert, Date.parse(notice.at))),
          ];
    const request = post(`${url.replace(/\/+$/, '')}/api/v2/alerts`, alerts, authorize(bearerToken));
    return alerts.length === 0 ? undefined : { request };
  },
  read: (response, _notice, nowMs) => readStatus(response, nowMs),
};

function pushed(notice: Notice, alert: Alert, endsAtMs: number) {
  return { ...describeAlert(notice, alert), endsAt: new Date(endsAtMs).toISOString() };
}

export function authorize(bearerToken: string | undefined): Record<string, string> {
  return bearerToken === undefined ? {} : { authorization: `Bearer ${bearerToken}` };
}

/** What identifies and describes an alert to Alertmanager and to programs that read what it sends. */
export function describeAlert(notice: Notice, alert: Alert): DescribedAlert {
  const { kind, severity, agentId, ruleId, title, message, id, createdAt } = alert;
  const link = linkToAlert(notice, alert);
  return {
    labels: {
      ...{ alertname: visible(title).slice(0, 200), kind, severity, agent: agentId, alert_id: id },
      ...(ruleId === undefined ? {} : { rule: ruleId }),
    },
    annotations: { summary: visible(title), description: visible(message) },
    startsAt: createdAt,
    ...(link === undefined ? {} : { generatorURL: link }),
  };
}

/** An alert that has ended when it arrives. */
export function describeTest({ at }: Notice): DescribedAlert & { readonly endsAt: string } {
  return {
    labels: { alertname: 'AgentLensTest', severity: 'info' },
    annotations: { summary: 'AgentLens can reach this receiver' },
    startsAt: new Date(Date.parse(at) - 1_000).toISOString(),
    endsAt: at,
  };
}
