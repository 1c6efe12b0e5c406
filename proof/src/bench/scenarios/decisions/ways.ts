import { COMMANDS } from '@agentlens/contracts';
import type { NatsConnection } from '@nats-io/transport-node';
import { Pool } from 'undici';
import { DEFAULT_TENANT, type Stage } from '../../stage.ts';

export const EMPTY_SUBJECT = 'bench.empty';

/** Name of the way over a gateway that decides itself. */
export const GATEWAY_WAY = 'HTTP, gateway decides';

/** Address of the empty handler and the NATS connection. */
export interface Endpoints {
  readonly connection: NatsConnection;
  readonly emptyUrl: string;
  /** A gateway that decides what it can. */
  readonly gatewayUrl?: string;
}

/** One way to request a decision, or the same round trip to a handler that does nothing. */
export interface Way {
  readonly name: string;
  /** True if it counts as a decision. */
  readonly decides: boolean;
  /** Returns true if the call is allowed. */
  ask(serial: number): Promise<boolean>;
  close?(): Promise<void>;
}

/** A new run every hundred calls, as with real agents. */
const runOf = (serial: number) => `bench-${process.pid}-${Math.floor(serial / 100)}`;
const CALL = { phase: 'tool.before', agentId: 'bench-agent', tool: { name: 'search', tags: ['web'] } } as const;
const ARGS = { query: 'weather in Bern', limit: 10 };

/** @param connections HTTP connections of each way; NATS uses one connection for any number of requests */
export function waysOf({ stack }: Stage, { connection, emptyUrl, gatewayUrl }: Endpoints, connections = 1): Way[] {
  const over = (name: string, url: string, path: (serial: number) => string, decides: boolean): Way => {
    const pool = new Pool(url, { connections });
    const headers = { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' };
    return {
      ...{ name, decides },
      async ask(serial) {
        const body = JSON.stringify({
          ...CALL,
          args: ARGS,
          tags: {},
          metrics: { bytes_in: 40 },
          callId: `c-${serial}`,
        });
        const answer = await pool.request({ method: 'POST', path: path(serial), headers, body });
        const value = (await answer.body.json()) as { readonly verdict?: string };
        return answer.statusCode === 200 && (!decides || value.verdict === 'ALLOW');
      },
      close: () => pool.close(),
    };
  };
  const onNats = (name: string, subject: string, decides: boolean): Way => ({
    ...{ name, decides },
    async ask(serial) {
      const question = {
        ...{ ...CALL, tenantId: DEFAULT_TENANT, runId: runOf(serial), args: ARGS, tags: {}, subjects: [] },
        ...{ metrics: { bytes_in: 40 }, callId: `n-${serial}` },
        ...{ receivedAt: new Date().toISOString(), deadlineMs: 1_000 },
      };
      const answer = await connection.request(subject, JSON.stringify(question), { timeout: 5_000 });
      const { ok, value } = answer.json<{ readonly ok: boolean; readonly value?: { readonly verdict: string } }>();
      return ok && (!decides || value?.verdict === 'ALLOW');
    },
  });
  const path = (serial: number) => `/v1/runs/${runOf(serial)}/evaluate`;
  return [
    over('HTTP', stack.ingestUrl, path, true),
    ...(gatewayUrl === undefined ? [] : [over(GATEWAY_WAY, gatewayUrl, path, true)]),
    over('empty HTTP', emptyUrl, () => '/', false),
    onNats('NATS', COMMANDS.decide.subject, true),
    onNats('empty NATS', EMPTY_SUBJECT, false),
  ];
}
