import type { ControlOrder, Directive } from '@agentlens/contracts';

/**
 * An order or directive as the board keeps it. `sequence` is its position in the broker's stream, the same on every
 * instance; 0 for an item that was only read from the table.
 */
export type ControlItem =
  | { readonly kind: 'directive'; readonly sequence: number; readonly value: Directive }
  | { readonly kind: 'order'; readonly sequence: number; readonly value: ControlOrder };

/**
 * Position of a client: the stream sequence per kind (kinds are watched separately, so one may be ahead), and a time
 * for items without a sequence.
 */
export interface ControlPosition {
  readonly orders: number;
  readonly directives: number;
  readonly issuedAtMs: number;
}

export const START_POSITION: ControlPosition = { orders: 0, directives: 0, issuedAtMs: 0 };

const FORM = /^(\d{1,16})\.(\d{1,16})-(\d{1,16})$/;

/** Formats a position as the `id:` of a frame and the `after` of a poll. */
export function formatPosition({ orders, directives, issuedAtMs }: ControlPosition): string {
  return `${orders}.${directives}-${issuedAtMs}`;
}

/** Returns null if the text is not a position. */
export function parsePosition(text: string): ControlPosition | null {
  const [, orders, directives, issuedAtMs] = (FORM.exec(text) ?? []).map(Number);
  if (orders === undefined || directives === undefined || issuedAtMs === undefined) return null;
  return [orders, directives, issuedAtMs].every(Number.isSafeInteger) ? { orders, directives, issuedAtMs } : null;
}

/** Returns the position of a client after it has received this item. */
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

/** Sorts items without a sequence first, by time, so that the position after each frame covers all earlier frames. */
export function byPosition(a: ControlItem, b: ControlItem): number {
  return a.sequence - b.sequence || Date.parse(a.value.issuedAt) - Date.parse(b.value.issuedAt);
}

/** True if the item restricts something, false if it lifts a restriction. */
export function isInForce(item: ControlItem): boolean {
  if (item.kind === 'order') return item.value.state !== 'running';
  return item.value.paused !== null || item.value.modelOverride !== null;
}
