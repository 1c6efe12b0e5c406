/**
 * How far a client has read: of the agent events, the batch (its sequence in the stream) and how many of its events; of the
 * triggers, the sequence. Sequences are the broker's, so any instance can go on where another one stopped.
 */
export interface StreamPosition {
  readonly batch: number;
  readonly events: number;
  readonly trigger: number;
}

export const BEGINNING: StreamPosition = { batch: 0, events: 0, trigger: 0 };

const FORM = /^(\d{1,16})\.(\d{1,6})-(\d{1,16})$/;

/** The `id:` of a frame. */
export function frameId(position: StreamPosition): string {
  return `${position.batch}.${position.events}-${position.trigger}`;
}

/** The position a frame id names, or null where the text is none. */
export function parsePosition(id: string): StreamPosition | null {
  const [, batch, events, trigger] = (FORM.exec(id) ?? []).map(Number);
  if (batch === undefined || events === undefined || trigger === undefined) return null;
  return Number.isSafeInteger(batch) && Number.isSafeInteger(trigger) ? { batch, events, trigger } : null;
}
