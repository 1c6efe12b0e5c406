import { type BusAccess, STREAMS, type StreamName } from '@agentlens/contracts';
import { inboxOf } from './open-nats-bus.ts';

export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/** What a service's user of NATS may do, as `deploy/nats/server.conf` says. Answers to questions come on top (`allow_responses`). */
export function permissionsOf(service: string, access: BusAccess): Permissions {
  const streams = new Set(access.reads.map(({ stream }) => stream).filter((stream) => stream !== null));
  return {
    publish: [
      ...access.publishes.map((topic) => topic.pattern()),
      ...access.asks.map(({ subject }) => subject),
      // At each start, to see whether they are there and as they should be: making them is for the setup.
      ...Object.values(STREAMS).map(({ name }) => `$JS.API.STREAM.INFO.${name}`),
      ...[...streams].flatMap(readingOf),
    ],
    subscribe: [
      `${inboxOf(`agentlens-${service}`)}.>`,
      ...access.reads.filter(({ stream }) => stream === null).map((topic) => topic.pattern()),
      ...access.answers.map(({ subject }) => subject),
    ],
  };
}

function readingOf(stream: StreamName): string[] {
  const consumer = ['CREATE', 'DURABLE.CREATE', 'INFO', 'MSG.NEXT', 'DELETE'];
  return [
    `$JS.API.STREAM.MSG.GET.${stream}`,
    ...consumer.map((verb) => `$JS.API.CONSUMER.${verb}.${stream}.>`),
    `$JS.ACK.${stream}.>`,
  ];
}
