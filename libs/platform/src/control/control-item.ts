import type { ControlOrder, Directive } from '@agentlens/contracts';

/**
 * One standing instruction as the board holds it. `sequence` is its place in the broker's stream, the same on every
 * instance; 0 for one that was only read from the table.
 */
export type ControlItem =
  | { readonly kind: 'directive'; readonly sequence: number; readonly value: Directive }
  | { readonly kind: 'order'; readonly sequence: number; readonly value: ControlOrder };

/**
 * How far a client has been told: per kind by the stream's sequence (the two kinds are watched apart, so one may be
 * ahead), and by time for items that have none.
 */
export interface ControlPosition {
  readonly orders: number;
  readonly directives: number;
  readonly issuedAtMs: number;
}

export const NOTHING_TOLD: ControlPosition = { orders: 0, directives: 0, issuedAtMs: 0 };

const FORM = /^(\d{1,16})\.(\d{1,16})-(\d{1,16})$/;

/** The `id:` of a frame, and the `after` of a poll. */
export function formatPosition({ orders, directives, issuedAtMs }: ControlPosition): string {
  return `${orders}.${directives}-${issuedAtMs}`;
}

/** Null where the text is no position. */
export function parsePosition(text: string): ControlPosition | null {
  const [, orders, directives, issuedAtMs] = (FORM.exec(text) ?? []).map(Number);
  if (orders === undefined || directives === undefined || issuedAtMs === undefined) return null;
  return [orders, directives, issuedAtMs].every(Number.isSafeInteger) ? { orders, directives, issuedAtMs } : null;
}

/** Where a client stands once it has this item too. */
export function advance(position: ControlPosition, { kind, sequence, value }: ControlItem): ControlPosition {
  return {
    orders: kind === 'order' ? Math.max(position.orders, sequence) : position.orders,
    directives: kind === 'directive' ? Math.max(position.directives, sequence) : position.directives,
    issuedAtMs: Math.max(position.issuedAtMs, Date.parse(value.issuedAt)),
  };
}

export function isAfter({ kind, sequence, value }: ControlItem, position: ControlPosition): boolean {
  if (sequence === 0) return Date.parse(value.issuedAt) > position.issuedAtMs;
  return sequence > (kind === 'order' ? position.orders : position.directives);
}

/** Items without a sequence first and by time, so that the position after each frame covers all before it. */
export function byPosition(a: ControlItem, b: ControlItem): number {
  return a.sequence - b.sequence || Date.parse(a.value.issuedAt) - Date.parse(b.value.issuedAt);
}

/** True for an instruction that stands against something; the opposite lifts one. */
export function isInForce(item: ControlItem): boolean {
  if (item.kind === 'order') return item.value.state !== 'running';
  return item.value.paused !== null || item.value.modelOverride !== null;
}
