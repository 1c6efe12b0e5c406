import type { JetStreamManager, NextMsgRequest, StoredMsg } from '@nats-io/jetstream';

/** The first message behind a sequence whose subject fits, as the leader of the stream has it; null: there is none. */
export function firstAfter(
  manager: JetStreamManager,
  stream: string,
  sequence: number,
  filter: string,
): Promise<StoredMsg | null> {
  const next = { seq: sequence + 1, next_by_subj: filter } satisfies NextMsgRequest;
  return manager.streams.getMessage(stream, next);
}
