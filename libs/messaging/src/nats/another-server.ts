import type { ReconnectToServerHandler } from '@nats-io/nats-core';

/**
 * The server that was tried longest ago. The client itself takes the next of its list, which the first time is the very
 * one it leaves.
 */
export const anotherServer: ReconnectToServerHandler = (pool) =>
  pool.toSorted((a, b) => a.lastConnect - b.lastConnect)[0] ?? null;
