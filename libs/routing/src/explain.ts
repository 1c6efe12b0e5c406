import type { RoutingAnswer } from '@agentlens/contracts';
import { findSuppression, type FiringAlert, type SuppressionState } from './suppress.ts';
import { findRoutes, pickGroup, type RouteNode } from './tree.ts';

/** Says for every channel whether the alert is shown there, through which route, or why not. */
export function explainRouting(
  alert: FiringAlert,
  channels: readonly string[],
  state: SuppressionState,
  { isApproval = alert.labels.kind === 'approval' }: { readonly isApproval?: boolean } = {},
): RoutingAnswer[] {
  const taken = findRoutes(state.tree, alert.labels);
  return channels.map((channel) => {
    const route = taken.find((one) => one.channels.includes(channel));
    if (route === undefined) return { channel, notified: false, because: explainMiss(channel, alert, taken, state) };
    const found = {
      ...{ channel, route: route.id, path: [...route.path], group: pickGroup(route, alert.labels) },
      ...{ groupWait: text(route.groupWaitMs), groupInterval: text(route.groupIntervalMs) },
      repeat: route.repeatMs === null ? null : text(route.repeatMs),
    };
    // An approval is never silenced or grouped: silence would deny it by expiry.
    if (isApproval) {
      const { channel: _, route: id, path } = found;
      return { channel, route: id, path, notified: true, because: `The route "${id}" sends approvals here at once` };
    }
    const suppressed = findSuppression(alert, route, state);
    if (suppressed === undefined) return { ...found, notified: true, because: `The route "${route.id}" leads here` };
    const until = suppressed.until === undefined ? '' : ` until ${suppressed.until}`;
    const because = `The route "${route.id}" leads here, but the alert is ${suppressed.kind} by "${suppressed.by}"${until}`;
    return { ...found, notified: false, suppressed, because };
  });
}

function explainMiss(
  channel: string,
  { labels }: FiringAlert,
  taken: readonly RouteNode[],
  { tree }: SuppressionState,
): string {
  const leading = [...tree.routes.values()].filter((route) => route.channels.includes(channel));
  const [route] = leading;
  if (route === undefined) return 'No route leads here';
  const chain = route.path.flatMap((id) => tree.routes.get(id) ?? []);
  for (const step of chain) {
    const failing = step.matchers.find((matcher) => !matcher.matches(labels));
    if (failing === undefined) continue;
    return `The route "${route.id}" leads here, but ${failing.text.trim()} does not match: ${failing.label} is "${labels[failing.label] ?? ''}"`;
  }
  const winner = taken.map(({ id }) => `"${id}"`).join(', ');
  return `The route "${route.id}" leads here, but ${winner} took the alert first`;
}

function text(ms: number): string {
  if (ms % 3_600_000 === 0 && ms > 0) return `${ms / 3_600_000}h`;
  return ms % 60_000 === 0 && ms > 0 ? `${ms / 60_000}m` : `${ms / 1_000}s`;
}
