import { type MsgHdrs, MsgHdrsImpl } from '@nats-io/nats-core';
import { encodeHeader, JSON_CONTENT } from '../message-headers.ts';
import { injectTrace } from '../trace-context.ts';
import type { WrittenMessage } from '../written-message.ts';

/**
 * The headers a message is published with: its type, its own, and the trace. Made at once from a record: `set` looks each
 * name up among the others and checks it, which for names that are ours and values that are encoded costs several
 * microseconds a message for nothing.
 */
export function headersFor({ headers }: WrittenMessage): MsgHdrs {
  const record: Record<string, string[]> = { 'content-type': [JSON_CONTENT] };
  for (const name in headers) record[name] = [encodeHeader(headers[name] ?? '')];
  injectTrace(record, (carrier, key, value) => {
    carrier[key] = [value];
  });
  return MsgHdrsImpl.fromRecord(record);
}
