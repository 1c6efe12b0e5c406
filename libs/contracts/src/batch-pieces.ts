/** Decodes UTF-8; invalid bytes become U+FFFD. */
export function utf8Text({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('utf8');
}

/** Text between two events as `writeEvent` and `batchBody` write it. The first event ends after the second brace. */
export const BETWEEN_EVENTS = '}},{"id":';
/** Length of the part that belongs to the first event. */
const EVENT_END = 2;
/**
 * Maximum size of a piece. V8 keeps strings up to 128 kB with other objects. A longer string gets pages of its own,
 * which the operating system zeroes each time; that costs more than everything else in creating it.
 */
const PIECE_BYTES = 100_000;

/**
 * Cuts the text of a batch between events into pieces that are cheap to allocate. The comma at a cut belongs to neither
 * piece. Returns one piece if the text is short or was not written by the gateway.
 *
 * Event contents may contain the separator, too. A cut inside an event leaves a first piece that is not valid JSON even
 * when closed, so the parser detects it.
 *
 * @param most maximum bytes of a piece, unless a single event is longer
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

/** Equals `JSON.parse` of the batch's text. @throws SyntaxError @param most as for `batchPieces` */
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
    // A wrong cut, or not JSON at all.
    return JSON.parse(utf8Text(body));
  }
}
