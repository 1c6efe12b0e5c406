import { Instant } from '@agentlens/contracts/schemas';
import { z } from 'zod';

/** Where a page ended: the sort instant of its last row, and the row's id among equals. */
export interface Position {
  readonly at: string;
  readonly id: string;
}

/** A client's id, with room for what a list of several kinds of things puts before it. */
const RowId = z
  .string()
  .min(1)
  .max(300)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused
  .regex(/^[^\u0000-\u001f\u007f]+$/);
const Decoded = z.strictObject({ v: z.literal(1), list: z.string(), at: Instant, id: RowId });
const MAX_CURSOR_LENGTH = 2_000;

/** Opaque to clients. Not signed: a forged position only moves within what the tenant may see anyway. */
export function encodeCursor(list: string, position: Position): string {
  const text = JSON.stringify({ v: 1, list, at: position.at, id: position.id });
  const bytes = String.fromCharCode(...new TextEncoder().encode(text));
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/** The position a cursor of this list names, or null where it is not a cursor of this list. */
export function decodeCursor(list: string, cursor: string): Position | null {
  const parsed = Decoded.safeParse(jsonOrNull(cursor));
  if (!parsed.success || parsed.data.list !== list) return null;
  return { at: parsed.data.at, id: parsed.data.id };
}

function jsonOrNull(cursor: string): unknown {
  if (cursor.length > MAX_CURSOR_LENGTH) return null;
  try {
    const bytes = atob(cursor.replaceAll('-', '+').replaceAll('_', '/'));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(bytes, (byte) => byte.charCodeAt(0))));
  } catch {
    return null;
  }
}
