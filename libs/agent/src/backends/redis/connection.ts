import { Redis } from 'ioredis';

/** A client of one's own may be handed in; it is not closed then. */
export type RedisClientOptions = ({ readonly url: string } | { readonly client: Redis }) & {
  /** In front of every key. Default `agentlens:agent`. */
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
  // Told by the commands that fail; without a listener it would end the process.
  if (owned) redis.on('error', () => undefined);
  return {
    ...{ redis, prefix, now },
    close: async () => {
      if (owned) redis.disconnect();
    },
  };
}
