import type { Json } from '../core/json.ts';
import type { Connector } from './connector.ts';

/** Runs statements on a database; each database's driver is in its subpath. */
export interface SqlDriver {
  /** Runs one statement with its parameters, read-only if requested, and returns at most `maxRows` rows. */
  run(
    statement: string,
    parameters: readonly (string | number | boolean | null)[],
    options: {
      readonly readOnly: boolean;
      readonly maxRows: number;
      readonly timeoutMs: number;
      readonly signal: AbortSignal;
    },
  ): Promise<{ readonly rows: readonly Json[]; readonly changes?: number }>;
}

export interface SqlConnectorOptions {
  readonly driver: SqlDriver;
  readonly id?: string;
  /** Default: read-only. */
  readonly write?: boolean;
  readonly maxRows?: number;
  readonly timeoutMs?: number;
}

interface SqlInput {
  readonly statement: string;
  readonly parameters?: readonly (string | number | boolean | null)[];
}

/** One statement with parameters; read-only unless `write` is set. */
export function sqlConnector({
  driver,
  id = 'sql',
  write = false,
  maxRows = 1_000,
  timeoutMs = 10_000,
}: SqlConnectorOptions): Connector {
  return {
    id,
    description: `Runs one SQL statement with parameters${write ? '' : ' (read-only)'} and returns its rows.`,
    safeByDefault: false,
    category: write ? 'write' : 'read',
    timeoutMs: timeoutMs + 5_000,
    schema: {
      type: 'object',
      properties: {
        statement: { type: 'string', minLength: 1, maxLength: 20_000 },
        parameters: { type: 'array', items: { type: ['string', 'number', 'boolean', 'null'] }, maxItems: 1_000 },
      },
      required: ['statement'],
      additionalProperties: false,
    },
    async run(input, { signal }) {
      const { statement, parameters = [] } = input as unknown as SqlInput;
      const { rows, changes } = await driver.run(statement, parameters, {
        readOnly: !write,
        maxRows: maxRows + 1,
        timeoutMs,
        signal,
      });
      const cut = rows.length > maxRows;
      return {
        ok: true,
        output: {
          rows: rows.slice(0, maxRows),
          ...(changes === undefined ? {} : { changes }),
          ...(cut ? { cut: true } : {}),
        },
      };
    },
  };
}
