import { canonicalJson, sha256Hex } from '@agentlens/contracts';
import { type HttpChannelKind, linkToAlert, type Notice, post, readStatus, showHost } from '../notice.ts';
import { authorize, describeAlert, describeTest } from './alertmanager.ts';

interface AlertmanagerWebhookConfig {
  readonly url: string;
  readonly bearerToken?: string | undefined;
}

type Pairs = Readonly<Record<string, string>>;

/** What Alertmanager writes for the end of an alert that fires. */
const NO_END = '0001-01-01T00:00:00Z';

/**
 * Sends the body of Alertmanager's webhook receiver, version 4, to programs that read it: incident.io, Grafana IRM, Keep,
 * Karma.
 */
export const alertmanagerWebhook: HttpChannelKind<AlertmanagerWebhookConfig> = {
  secrets: ['url', 'bearerToken'],
  shows: 'grouped',
  address: ({ url }) => url,
  target: ({ url }) => showHost(url),
  render({ url, bearerToken }, notice) {
    return { request: post(url, bodyFor(notice), authorize(bearerToken)) };
  },
  read: (response, _notice, nowMs) => readStatus(response, nowMs),
};

function bodyFor(notice: Notice): object {
  const { firing, resolved, reason, channelId, route, group, more, publicUrl } = notice;
  const test = reason === 'test' ? [{ ...describeTest(notice), status: 'resolved' as const }] : [];
  const alerts = [
    ...test,
    ...firing.map((alert) => ({ ...describeAlert(notice, alert), status: 'firing' as const, endsAt: NO_END })),
    ...resolved.map((alert) => ({ ...describeAlert(notice, alert), status: 'resolved' as const, endsAt: notice.at })),
  ];
  return {
    ...{ version: '4', receiver: channelId, status: firing.length > 0 ? 'firing' : 'resolved' },
    ...{ groupKey: `{}/{route=${JSON.stringify(route)}}:${writeLabels(group)}`, groupLabels: group },
    commonLabels: findCommon(alerts.map(({ labels }) => labels)),
    commonAnnotations: findCommon(alerts.map(({ annotations }) => annotations)),
    externalURL: publicUrl ?? '',
    truncatedAlerts: more,
    alerts: alerts.map(({ generatorURL = linkToAlert(notice, undefined) ?? '', ...alert }) => ({
      ...alert,
      generatorURL,
      fingerprint: sha256Hex(canonicalJson(alert.labels)).slice(0, 16),
    })),
  };
}

/** Pairs that all of them have. */
function findCommon(all: readonly Pairs[]): Pairs {
  const [first = {}, ...others] = all;
  return Object.fromEntries(
    Object.entries(first).filter(([name, value]) => others.every((pairs) => pairs[name] === value)),
  );
}

/** `{agent="bot", rule="a"}`, as Alertmanager writes the labels of a group. */
function writeLabels(labels: Pairs): string {
  const pairs = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${pairs.map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(', ')}}`;
}
