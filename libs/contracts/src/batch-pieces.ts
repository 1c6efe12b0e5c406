import { utf8Text } from './utf8-text.ts';

/** What stands between two events as `writeEvent` and `batchBody` write them: the first ends behind the second brace. */
export const BETWEEN_EVENTS = '}},{"id":';
/** Of an event that is no longer the last of its text. */
const EVENT_END = 2;
/**
 * V8 keeps a text of up to 128 kB among the other objects. A longer one has pages of its own, and the system clears them
 * anew for every text: that costs more than all else in making it.
 */
const PIECE_BYTES = 100_000;

/**
 * The text of a batch, cut between events into pieces that are cheap to have; the comma at a cut is in neither. One piece
 * where it is short, or not written as the gateway writes it.
 *
 * Contents may hold what stands between events, too. A cut inside of an event leaves pieces of which the first is no JSON
 * however it is closed, so whoever parses them finds out.
 *
 * @param most bytes of a piece, unless an event is longer
 */
export function batchPieces(body: Uint8Array, most = PIECE_BYTES): string[] {
  const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const pieces: string[] = [];
  let from = 0;
  while (bytes.length - from > most) {
    const before = bytes.lastIndexOf(BETWEEN_EVENTS, Math.max(from, from + most - EVENT_END));
    const at = before > from ? before : bytes.indexOf(BETWEEN_EVENTS, from + 1);
    if (at < 0) break;
    pieces.push(bytes.toString('utf8', from, at + EVENT_END));
    from = at + EVENT_END + 1;
  }
  pieces.push(bytes.toString('utf8', from));
  return pieces;
}

/** What `JSON.parse` makes of a batch's text. @throws SyntaxError @param most as for `batchPieces` */
export function parseBatch(body: Uint8Array, most?: number): unknown {
  const [first = '', ...rest] = batchPieces(body, most);
  if (rest.length === 0) return JSON.parse(first);
  try {
    const batch = JSON.parse(`${first}]}`) as { readonly events: unknown[] };
    rest.forEach((piece, at) => {
      const events = JSON.parse(at < rest.length - 1 ? `[${piece}]` : `[${piece.slice(0, -1)}`) as unknown[];
      for (const event of events) batch.events.push(event);
    });
    return batch;
  } catch {
    // Cut where it must not be, or no JSON at all.
    return JSON.parse(utf8Text(body));
  }
}
