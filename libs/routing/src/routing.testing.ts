import { type AlertLabels, RoutingDocument } from '@agentlens/contracts';
import { type RoutingTree, readRouting } from './tree.ts';

export const NOW = Date.parse('2026-03-01T12:00:00.000Z');

export const aDocument = (document: object): RoutingDocument => RoutingDocument.parse(document);

/** Reads a document whose channels all exist, and expects no problem. */
export function aTree(document: object): RoutingTree {
  const parsed = aDocument(document);
  const channels = new Set(
    parsed.routes.flatMap((route) => [
      ...(route.channels ?? []),
      ...(route.escalate ?? []).flatMap((step) => step.channels),
    ]),
  );
  const { tree, problems } = readRouting(parsed, channels);
  if (problems.length > 0) throw new Error(JSON.stringify(problems));
  return tree;
}

export const anAlert = (labels: AlertLabels, alertId = 'alert-1') => ({ alertId, labels });
