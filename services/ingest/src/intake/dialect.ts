import {
  type PriceBook,
  type TranslatedEvent,
  type Translation,
  translateAgentLensEvent,
  translateHandlebarEvent,
} from '@agentlens/contracts';

/** The prices that apply to each tenant. */
export interface TenantPrices {
  of(tenantId: string): PriceBook;
}

/** A vocabulary of events, and how strict the gateway may be with its clients. */
export interface Dialect {
  translate(raw: unknown, prices: PriceBook, nowMs: number): Translation;
  /**
   * What happens to an event with an impossible time: it is rejected, or dated with its first arrival if its clients
   * ignore answers.
   */
  readonly wrongTime: 'refuse' | 'redate';
}

export const AGENTLENS: Dialect = { translate: translateAgentLensEvent, wrongTime: 'refuse' };

/** Audit events of one agent, which is named once per request. */
export function handlebar(agentId: string): Dialect {
  return {
    translate: (raw, prices, nowMs) => translateHandlebarEvent(raw, agentId, prices, nowMs),
    wrongTime: 'redate',
  };
}

/** Removes the impossible time from an event and keeps it as metadata. */
export function redated(event: TranslatedEvent): TranslatedEvent {
  const { timestamp, facts } = event;
  return {
    ...event,
    timestamp: undefined,
    facts: { ...facts, metadata: { ...facts.metadata, clientTime: timestamp } },
  };
}
