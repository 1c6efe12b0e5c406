import {
  type AlertLabel,
  type AlertLabels,
  isTimeZone,
  type MuteWindow,
  parseDuration,
  type RoutingDocument,
  type RoutingProblem,
} from '@agentlens/contracts';
import { type Matcher, matchesAll, parseMatchers } from './matchers.ts';

/** A route with everything that it inherits. */
export interface RouteNode {
  readonly id: string;
  /** Ids from the first route to this one. */
  readonly path: readonly string[];
  readonly matchers: readonly Matcher[];
  readonly continues: boolean;
  readonly channels: readonly string[];
  readonly groupBy: readonly AlertLabel[];
  readonly groupWaitMs: number;
  readonly groupIntervalMs: number;
  /** Null: never. */
  readonly repeatMs: number | null;
  readonly mute: readonly string[];
  readonly escalate: readonly EscalationStep[];
  readonly children: readonly RouteNode[];
}

export interface EscalationStep {
  readonly beforeExpiryMs: number;
  readonly channels: readonly string[];
}

export interface InhibitionRule {
  readonly source: readonly Matcher[];
  readonly target: readonly Matcher[];
  readonly equal: readonly AlertLabel[];
}

/** A routing document that is ready to be used. */
export interface RoutingTree {
  readonly root: RouteNode;
  /** Every route by its id. */
  readonly routes: ReadonlyMap<string, RouteNode>;
  readonly inhibit: readonly InhibitionRule[];
  readonly windows: Readonly<Record<string, MuteWindow>>;
}

export const MAX_DEPTH = 6;
const DEFAULTS = { groupWait: '30s', groupInterval: '5m', repeat: '4h' } as const;

/** Reads a document. `channels`: the channels that exist; a route that names another one is a problem. */
export function readRouting(
  document: RoutingDocument,
  channels: ReadonlySet<string>,
): { readonly tree: RoutingTree; readonly problems: readonly RoutingProblem[] } {
  const problems: RoutingProblem[] = [];
  const complain = (path: string, message: string) => problems.push({ path, message });
  const routes = new Map<string, MutableNode>();
  const [first] = document.routes;
  for (const [n, route] of document.routes.entries()) {
    const at = `routes[${n}]`;
    if (routes.has(route.id)) complain(`${at}.id`, `"${route.id}" is used twice; every route has an id of its own`);
    const parent = route.under === undefined ? undefined : routes.get(route.under);
    if (n === 0 && route.under !== undefined)
      complain(`${at}.under`, 'must be absent: the first route has no route above it');
    if (n === 0 && route.match.length > 0) complain(`${at}.match`, 'must be empty: the first route takes every alert');
    if (n > 0 && parent === undefined) complain(`${at}.under`, 'must name a route that comes before this one');
    const { matchers, messages } = parseMatchers(route.match);
    for (const message of messages) complain(`${at}.match`, message);
    for (const channel of [...(route.channels ?? []), ...(route.escalate ?? []).flatMap((step) => step.channels)])
      if (!channels.has(channel)) complain(`${at}.channels`, `there is no channel "${channel}"; create it first`);
    for (const name of route.mute ?? [])
      if (document.windows[name] === undefined) complain(`${at}.mute`, `there is no window "${name}"`);
    const node: MutableNode = {
      ...{ id: route.id, path: [...(parent?.path ?? []), route.id], matchers, continues: route.continue, children: [] },
      channels: route.channels ?? parent?.channels ?? [],
      groupBy: route.groupBy ?? parent?.groupBy ?? [],
      groupWaitMs: read(route.groupWait, parent?.groupWaitMs, DEFAULTS.groupWait),
      groupIntervalMs: read(route.groupInterval, parent?.groupIntervalMs, DEFAULTS.groupInterval),
      repeatMs: route.repeat === null ? null : readRepeat(route.repeat, parent),
      mute: route.mute ?? [],
      escalate:
        route.escalate?.map((step) => ({
          beforeExpiryMs: parseDuration(step.beforeExpiry),
          channels: step.channels,
        })) ??
        parent?.escalate ??
        [],
    };
    if (node.path.length > MAX_DEPTH) complain(`${at}.under`, `routes may be ${MAX_DEPTH} deep`);
    if (node.groupIntervalMs < 1_000) complain(`${at}.groupInterval`, 'must be at least one second');
    if (node.repeatMs !== null && node.repeatMs < node.groupIntervalMs)
      complain(`${at}.repeat`, 'must be at least "groupInterval": a group is looked at that often');
    parent?.children.push(node);
    routes.set(route.id, node);
  }
  for (const [name, { zone }] of Object.entries(document.windows))
    if (!isTimeZone(zone))
      complain(`windows.${name}.zone`, `"${zone}" is no time zone; write for example Europe/Berlin`);
  const inhibit = document.inhibit.map(({ source, target, equal }, n) => {
    const [from, to] = [parseMatchers(source), parseMatchers(target)];
    for (const message of [...from.messages, ...to.messages]) complain(`inhibit[${n}]`, message);
    return { source: from.matchers, target: to.matchers, equal };
  });
  const root = routes.get(first?.id ?? '');
  if (root === undefined) throw new Error('a routing document has at least one route');
  return { tree: { root, routes, inhibit, windows: document.windows }, problems };
}

type MutableNode = Omit<RouteNode, 'children'> & { readonly children: MutableNode[] };

function read(own: string | undefined, inherited: number | undefined, otherwise: string): number {
  return own === undefined ? (inherited ?? parseDuration(otherwise)) : parseDuration(own);
}

function readRepeat(own: string | undefined, parent: RouteNode | undefined): number | null {
  if (own !== undefined) return parseDuration(own);
  return parent === undefined ? parseDuration(DEFAULTS.repeat) : parent.repeatMs;
}

/**
 * The routes that take an alert, depth first. The first child that matches wins; one that continues also lets its later
 * siblings try. A node none of whose children matches takes the alert itself.
 */
export function findRoutes({ root }: RoutingTree, labels: AlertLabels): RouteNode[] {
  return walk(root, labels);
}

function walk(node: RouteNode, labels: AlertLabels): RouteNode[] {
  const taken: RouteNode[] = [];
  for (const child of node.children) {
    if (!matchesAll(child.matchers, labels)) continue;
    taken.push(...walk(child, labels));
    if (!child.continues) break;
  }
  return taken.length === 0 ? [node] : taken;
}

/** The values that identify the group of an alert. A label that it does not have is left out. */
export function pickGroup({ groupBy }: RouteNode, labels: AlertLabels): Record<string, string> {
  return Object.fromEntries(
    [...groupBy].sort().flatMap((label) => (labels[label] === undefined ? [] : [[label, labels[label]]])),
  );
}
