import type { Topic } from '@agentlens/contracts';
import { type MsgHdrs, MsgHdrsImpl } from '@nats-io/nats-core';
import { cloudEventHeaders, encodeHeader, JSON_CONTENT } from '../message-headers.ts';
import { injectTrace } from '../trace-context.ts';

/**
 * The headers a message is published with: its type, its attributes as a CloudEvent, what its topic sums up, and the
 * trace. Made at once from a record: `set` looks each name up among the others and checks it, which for names that are
 * ours and values that are encoded costs several microseconds a message for nothing.
 */
export function headersFor<T>(topic: Topic<T>, message: T): MsgHdrs {
  const record: Record<string, string[]> = { 'content-type': [JSON_CONTENT] };
  const event = topic.cloudEvent?.(message);
  if (event) for (const [name, value] of cloudEventHeaders(event)) record[name] = [encodeHeader(value)];
  const summary = topic.summary?.headersOf(message);
  for (const name in summary) record[name] = [encodeHeader(summary[name] ?? '')];
  injectTrace(record, (carrier, key, value) => {
    carrier[key] = [value];
  });
  return MsgHdrsImpl.fromRecord(record);
}
