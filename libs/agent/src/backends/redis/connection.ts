import { Redis } from 'ioredis';

/** You can pass your own client; it is not closed then. */
export type RedisClientOptions = ({ readonly url: string } | { readonly client: Redis }) & {
  /** Prefix of every key. Default `agentlens:agent`. */
  readonly prefix?: string;
  readonly now?: () => number;
};

export interface ConnectedRedis {
  readonly redis: Redis;
  readonly prefix: string;
  readonly now: () => number;
  close(): Promise<void>;
}

export function connectRedis(options: RedisClientOptions): ConnectedRedis {
  const { prefix = 'agentlens:agent', now = Date.now } = options;
  const owned = 'url' in options;
  const redis = owned
    ? new Redis(options.url, { maxRetriesPerRequest: 2, commandTimeout: 5_000, connectTimeout: 5_000 })
    : options.client;
  // Failing commands report errors; without a listener the event would end the process.
  if (owned) redis.on('error', () => undefined);
  return {
    ...{ redis, prefix, now },
    close: async () => {
      if (owned) redis.disconnect();
    },
  };
}
