import type { AlertLabels, Suppression } from '@agentlens/contracts';
import { type Matcher, matchesAll } from './matchers.ts';
import type { InhibitionRule, RouteNode, RoutingTree } from './tree.ts';
import { isInWindow } from './windows.ts';

export interface ActiveSilence {
  readonly id: string;
  readonly matchers: readonly Matcher[];
  readonly startsAtMs: number;
  readonly endsAtMs: number;
}

export interface FiringAlert {
  readonly alertId: string;
  readonly labels: AlertLabels;
}

/** Everything besides the alert that decides whether it is shown. */
export interface SuppressionState {
  readonly tree: RoutingTree;
  readonly silences: readonly ActiveSilence[];
  /** All alerts of the tenant that fire, silenced ones included: these inhibit too. */
  readonly firing: readonly FiringAlert[];
  readonly nowMs: number;
}

/** Why the alert is not shown by the route now; undefined if it is. */
export function findSuppression(
  alert: FiringAlert,
  route: Pick<RouteNode, 'mute'>,
  { tree, silences, firing, nowMs }: SuppressionState,
): Suppression | undefined {
  // Who may silence alerts may be whom the alert is about.
  if (alert.labels.kind === 'security') return undefined;
  const silence = silences.find(
    ({ matchers, startsAtMs, endsAtMs }) =>
      startsAtMs <= nowMs && nowMs < endsAtMs && matchesAll(matchers, alert.labels),
  );
  if (silence !== undefined) {
    return { kind: 'silenced', by: silence.id, until: new Date(silence.endsAtMs).toISOString() };
  }
  const source = findInhibitor(alert, tree.inhibit, firing);
  if (source !== undefined) return { kind: 'inhibited', by: source.alertId };
  const window = route.mute.find((name) => {
    const muted = tree.windows[name];
    return muted !== undefined && isInWindow(muted, nowMs);
  });
  return window === undefined ? undefined : { kind: 'muted', by: window };
}

function findInhibitor(
  alert: FiringAlert,
  rules: readonly InhibitionRule[],
  firing: readonly FiringAlert[],
): FiringAlert | undefined {
  for (const rule of rules) {
    const found = firing.find((source) => inhibits(rule, source, alert) && !inhibits(rule, alert, source));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Labels of `equal` that both lack do not make them equal: in Alertmanager they do, and mute more than expected. */
function inhibits({ source, target, equal }: InhibitionRule, from: FiringAlert, to: FiringAlert): boolean {
  return (
    from.alertId !== to.alertId &&
    matchesAll(source, from.labels) &&
    matchesAll(target, to.labels) &&
    equal.every((label) => from.labels[label] !== undefined && from.labels[label] === to.labels[label])
  );
}
