import { type AgentEvent, derivedId, type PriceBook, sha256Hex, translateAgentLensEvent } from '@agentlens/contracts';
import type { TestEvent } from './test-file.ts';

/** What a call costs is what its event says. */
const NO_PRICES: PriceBook = { providerOf: () => undefined, costOf: () => undefined };

type MadeEvent = { readonly ok: true; readonly event: AgentEvent } | { readonly ok: false; readonly problem: string };

/** An event of a test as the gateway would make it of a request that arrives at `nowMs`; `place` tells it from others. */
export function testEvent(
  { agent, run, type, payload, severity, tags, metadata }: TestEvent,
  nowMs: number,
  place: number,
): MadeEvent {
  const raw = { agentId: agent, sessionId: run, eventType: type, payload, severity, tags, metadata };
  const translated = translateAgentLensEvent(raw, NO_PRICES, nowMs);
  if (!translated.ok) {
    const problem = translated.details.map(({ path, message }) => `${WRITTEN_AS[path] ?? path}: ${message}`).join('; ');
    return { ok: false, problem };
  }
  const id = derivedId(nowMs, 'event', place);
  const occurredAt = new Date(nowMs).toISOString();
  return {
    ok: true,
    event: { ...translated.event.facts, id, occurredAt, retryable: false, hash: sha256Hex(id) },
  };
}

/** How a test calls fields of the API. */
const WRITTEN_AS: Readonly<Record<string, string>> = { eventType: 'type', sessionId: 'run', agentId: 'agent' };
