import {
  type PriceBook,
  type TranslatedEvent,
  type Translation,
  translateAgentLensEvent,
  translateHandlebarEvent,
} from '@agentlens/contracts';

/** A vocabulary of events, and how strict its clients let the gateway be. */
export interface Dialect {
  translate(raw: unknown, prices: PriceBook, nowMs: number): Translation;
  /** An event whose time cannot be is refused, or dated with its first arrival where its client reads no answers. */
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

/** The event without its impossible time, which stays readable beside it. */
export function redated(event: TranslatedEvent): TranslatedEvent {
  const { timestamp, facts } = event;
  return {
    ...event,
    timestamp: undefined,
    facts: { ...facts, metadata: { ...facts.metadata, clientTime: timestamp } },
  };
}
