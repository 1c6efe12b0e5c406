import { COMMANDS } from '@agentlens/contracts';
import type { NatsConnection } from '@nats-io/transport-node';
import { Pool } from 'undici';
import { DEFAULT_TENANT, type Stage } from '../../stage.ts';
import { OPA_PATH } from './opa.ts';

export const EMPTY_SUBJECT = 'bench.empty';

/** Name of the way over a gateway that asks the evaluator about every call. */
export const EVALUATOR_WAY = 'HTTP, evaluator decides';
export const OPA_WAY = 'OPA';

export interface Endpoints {
  readonly emptyUrl: string;
  /** Absent in one process. */
  readonly connection?: NatsConnection;
  /** A gateway that asks the evaluator about every call. */
  readonly askingUrl?: string;
  /** An OPA server with equivalent rules. */
  readonly opaUrl?: string | undefined;
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
export function waysOf({ stack }: Stage, endpoints: Endpoints, connections = 1): Way[] {
  const { connection, emptyUrl, askingUrl, opaUrl } = endpoints;
  const over = (name: string, url: string, path: (serial: number) => string, decides: boolean): Way => {
    const pool = new Pool(url, { connections });
    const headers = { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' };
    return {
      ...{ name, decides },
      async ask(serial) {
        const question = { ...CALL, args: ARGS, tags: {}, metrics: { bytes_in: 40 }, callId: `c-${serial}` };
        const body = JSON.stringify(name === OPA_WAY ? { input: question } : question);
        const answer = await pool.request({ method: 'POST', path: path(serial), headers, body });
        const value = (await answer.body.json()) as { readonly verdict?: string };
        return answer.statusCode === 200 && (!decides || value.verdict === 'ALLOW');
      },
      close: () => pool.close(),
    };
  };
  const onNats = (nats: NatsConnection, name: string, subject: string, decides: boolean): Way => ({
    ...{ name, decides },
    async ask(serial) {
      const question = {
        ...{ ...CALL, tenantId: DEFAULT_TENANT, runId: runOf(serial), args: ARGS, tags: {}, subjects: [] },
        ...{ metrics: { bytes_in: 40 }, callId: `n-${serial}` },
        ...{ receivedAt: new Date().toISOString(), deadlineMs: 1_000 },
      };
      const answer = await nats.request(subject, JSON.stringify(question), { timeout: 5_000 });
      const { ok, value } = answer.json<{ readonly ok: boolean; readonly value?: { readonly verdict: string } }>();
      return ok && (!decides || value?.verdict === 'ALLOW');
    },
  });
  const path = (serial: number) => `/v1/runs/${runOf(serial)}/evaluate`;
  return [
    over('HTTP', stack.ingestUrl, path, true),
    ...(askingUrl === undefined ? [] : [over(EVALUATOR_WAY, askingUrl, path, true)]),
    over('empty HTTP', emptyUrl, () => '/', false),
    ...(opaUrl === undefined ? [] : [over(OPA_WAY, opaUrl, () => OPA_PATH, false)]),
    ...(connection === undefined
      ? []
      : [
          onNats(connection, 'NATS', COMMANDS.decide.subject, true),
          onNats(connection, 'empty NATS', EMPTY_SUBJECT, false),
        ]),
  ];
}
