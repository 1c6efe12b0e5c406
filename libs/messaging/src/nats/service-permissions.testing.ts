import { type BusAccess, STREAMS, type StreamName } from '@agentlens/contracts';
import { inboxOf } from './open-nats-bus.ts';

export interface Permissions {
  readonly publish: readonly string[];
  readonly subscribe: readonly string[];
}

/**
 * Expected permissions of a service's NATS user in `deploy/nats/server.conf`. Answers are allowed by `allow_responses`.
 */
export function permissionsOf(service: string, access: BusAccess): Permissions {
  const streams = new Set(access.reads.map(({ stream }) => stream).filter((stream) => stream !== null));
  return {
    publish: [
      ...access.publishes.map((topic) => topic.pattern()),
      ...access.asks.map(({ subject }) => subject),
      // Services check the streams at each start; only the setup creates them.
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
