import { Route, RoutingDocument, type RoutingProblem } from '@agentlens/contracts';
import { type RoutingTree, readRouting } from './tree.ts';

/** Routes as they are in force. */
export interface StoredRoutes {
  readonly tree: RoutingTree;
  /** What cannot be read. A route with such a matcher takes no alert; its parent takes it. */
  readonly problems: readonly RoutingProblem[];
  /** The document cannot be read at all, so `tree` leads every alert to the default channels. */
  readonly isDefault: boolean;
}

const MAX_PROBLEMS = 20;
/** As many as a route may name. */
const MAX_CHANNELS_OF_ROUTE = 20;

/**
 * Reads routes that were stored, perhaps by another release. A document that cannot be read stops no alert: alerts go to
 * the channels of its first route, and to every channel if that cannot be read either, because an alert in the wrong
 * channel is better than a lost one.
 *
 * @param channels ids of the channels that are switched on
 */
export function readStoredRouting(body: unknown, channels: readonly string[]): StoredRoutes {
  const parsed = RoutingDocument.safeParse(body);
  if (parsed.success) {
    const { tree, problems } = readRouting(parsed.data, new Set(channelsIn(parsed.data)));
    return { tree, problems: problems.slice(0, MAX_PROBLEMS), isDefault: false };
  }
  const problems = parsed.error.issues
    .slice(0, MAX_PROBLEMS)
    .map(({ path, message }) => ({ path: path.join('.'), message }));
  const named = readFirstChannels(body).filter((id) => channels.includes(id));
  const receivers = (named.length > 0 ? named : channels).slice(0, MAX_CHANNELS_OF_ROUTE);
  const document = RoutingDocument.parse({
    routes: [{ id: 'default', channels: receivers, groupBy: ['rule', 'agent'] }],
  });
  return { tree: readRouting(document, new Set(receivers)).tree, problems, isDefault: true };
}

function readFirstChannels(body: unknown): readonly string[] {
  const routes: unknown = typeof body === 'object' && body !== null && 'routes' in body ? body.routes : undefined;
  const first: unknown = Array.isArray(routes) ? routes[0] : undefined;
  return Route.pick({ channels: true }).strip().safeParse(first).data?.channels ?? [];
}

/** Ids of the channels that a document names. They existed when it was saved. */
function channelsIn({ routes }: RoutingDocument): string[] {
  const named = routes.flatMap((route) => [
    ...(route.channels ?? []),
    ...(route.escalate ?? []).flatMap((step) => step.channels),
  ]);
  return [...new Set(named)];
}
