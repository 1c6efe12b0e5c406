import type { DescMessage } from '@bufbuild/protobuf';
import { UndecodableOtlp } from './span.ts';

/** Limits of one request (docs/security.md, "Work per request"). */
export const OTLP_LIMITS = {
  /** Spans or log records. */
  items: 10_000,
  /** Fields of protobuf messages: of spans, their attributes, events and links, and of nested values. */
  fields: 500_000,
  /** Resources and scopes. */
  groups: 10_000,
  fieldsPerItem: 20_000,
  bytesPerItem: 8 * 1024 * 1024,
  /** Nested messages, counted from the span. */
  nesting: 90,
  /** Keys, values and lists of a JSON request. */
  jsonUnits: 300_000,
  /** Size of a JSON request. */
  jsonBytes: 16 * 1024 * 1024,
} as const;

/** The request exceeds the limits of one request. */
export class TooMuchOtlp extends Error {
  override readonly name = 'TooMuchOtlp';

  constructor(what: string) {
    super(`the request holds ${what}; send smaller batches (OTEL_BSP_MAX_EXPORT_BATCH_SIZE)`);
  }
}

/** A length-delimited field of a message. */
interface Block {
  readonly field: number;
  readonly bytes: Uint8Array;
}

/** Maximum fields outside of items in one request: those of resources and scopes, and unknown ones. */
const MAX_OUTER_FIELDS = 100_000;

/** Walks through the messages around items, and counts the fields of all of them together. */
export class OuterFields {
  #count = 0;

  /** Iterates over the length-delimited fields of one message. @throws UndecodableOtlp, TooMuchOtlp */
  *of(message: Uint8Array): Generator<Block> {
    const fields = new Fields(message, 0, message.length);
    while (fields.next()) {
      if (++this.#count > MAX_OUTER_FIELDS) {
        throw new TooMuchOtlp(`more than ${MAX_OUTER_FIELDS} fields outside of spans and log records`);
      }
      if (fields.isBlock) yield { field: fields.field, bytes: message.subarray(fields.from, fields.to) };
    }
  }
}

/** Counts the fields of the items of one request. @throws UndecodableOtlp, TooMuchOtlp */
export class FieldBudget {
  #left: number = OTLP_LIMITS.fields;

  /** Returns why a single item is rejected, or undefined if it is within the limits. */
  tooHeavy(desc: DescMessage, item: Uint8Array): string | undefined {
    const { bytesPerItem, fieldsPerItem, nesting } = OTLP_LIMITS;
    if (item.length > bytesPerItem) return `it has ${item.length} bytes; one may have ${bytesPerItem}`;
    const { fields, isTooDeep } = new FieldCounter(item, fieldsPerItem).count(desc);
    this.#left -= fields;
    if (this.#left < 0) throw new TooMuchOtlp(`more than ${OTLP_LIMITS.fields} fields`);
    if (isTooDeep) return `its attributes are nested more than ${nesting} levels deep`;
    return fields > fieldsPerItem
      ? `its attributes, events and links have more than ${fieldsPerItem} fields`
      : undefined;
  }

  /** Counts a resource or scope. If it is too large the whole request is rejected, because every item shares it. */
  take(desc: DescMessage, shared: Uint8Array): void {
    const reason = this.tooHeavy(desc, shared);
    if (reason !== undefined) throw new TooMuchOtlp(`a resource or scope that is too large: ${reason}`);
  }
}

/** Message-typed fields of a message, by field number. */
type Table = ReadonlyMap<number, DescMessage>;
const tables = new Map<DescMessage, Table>();

function tableOf(desc: DescMessage): Table {
  const known = tables.get(desc);
  if (known !== undefined) return known;
  const inner = desc.fields.flatMap(({ number, message }): [number, DescMessage][] =>
    message === undefined ? [] : [[number, message]],
  );
  const table = new Map(inner);
  tables.set(desc, table);
  return table;
}

class FieldCounter {
  fields = 0;
  isTooDeep = false;
  readonly #bytes: Uint8Array;
  readonly #max: number;

  constructor(bytes: Uint8Array, max: number) {
    this.#bytes = bytes;
    this.#max = max;
  }

  count(desc: DescMessage): this {
    this.#count(tableOf(desc), 0, this.#bytes.length, 0);
    return this;
  }

  #count(table: Table, from: number, to: number, depth: number): void {
    if (depth > OTLP_LIMITS.nesting) {
      this.isTooDeep = true;
      return;
    }
    const fields = new Fields(this.#bytes, from, to);
    while (this.fields <= this.#max && fields.next()) {
      this.fields += 1;
      const inner = fields.isBlock ? table.get(fields.field) : undefined;
      if (inner !== undefined) this.#count(tableOf(inner), fields.from, fields.to, depth + 1);
    }
  }
}

const VARINT = 0;
const BITS_64 = 1;
const LENGTH_DELIMITED = 2;
const BITS_32 = 5;
const MAX_VARINT_BYTES = 10;

/** Iterates over the fields of one message without decoding them. */
class Fields {
  field = 0;
  isBlock = false;
  /** Start and end of a block's value. */
  from = 0;
  to = 0;
  #at: number;
  readonly #bytes: Uint8Array;
  readonly #end: number;

  constructor(bytes: Uint8Array, from: number, to: number) {
    this.#bytes = bytes;
    this.#at = from;
    this.#end = to;
  }

  /** Moves to the next field; returns false at the end. @throws UndecodableOtlp */
  next(): boolean {
    if (this.#at >= this.#end) return false;
    const tag = this.#varint();
    this.field = Math.floor(tag / 8);
    if (this.field === 0) throw broken('a field has the number 0');
    const type = tag % 8;
    this.isBlock = type === LENGTH_DELIMITED;
    if (type === VARINT) this.#varint();
    else if (type === BITS_64) this.#at += 8;
    else if (type === BITS_32) this.#at += 4;
    else if (type === LENGTH_DELIMITED) {
      const length = this.#varint();
      this.from = this.#at;
      this.#at += length;
      this.to = this.#at;
    } else throw broken(`a field has the wire type ${type}`);
    if (this.#at > this.#end) throw broken('it ends too early');
    return true;
  }

  /** Exact up to 2^53, which exceeds any valid length or tag. */
  #varint(): number {
    let value = 0;
    let factor = 1;
    for (let count = 0; count < MAX_VARINT_BYTES; count++) {
      if (this.#at >= this.#end) throw broken('it ends too early');
      const byte = this.#bytes[this.#at++] ?? 0;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 128;
    }
    throw broken('a number has more than 10 bytes');
  }
}

function broken(why: string): UndecodableOtlp {
  return new UndecodableOtlp(`the body is no OTLP request in protobuf: ${why}`);
}
