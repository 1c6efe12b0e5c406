import { type JsonObject, OTLP_DIALECT, type Usage } from '@agentlens/contracts';
import type { StoredEvent } from '@agentlens/operations';

type Origin = NonNullable<StoredEvent['usage']['origin']>;

/** What the origin of the figures of a model call depends on. */
interface Reported {
  readonly dialect: string;
  readonly metadata: JsonObject;
  /** With the members of the column `pricing`. */
  readonly usage: Usage;
}

/** Where the tokens and the cost of an event come from; undefined for events that spend nothing. */
export function describeOrigin({ dialect, metadata, usage }: Reported): Origin | undefined {
  const { costSource, priceRef, approximation, unpricedReason, feesUsd } = usage;
  if (costSource === undefined) return undefined;
  const reporter = usage.reportedBy ?? readReporter(dialect, metadata);
  return {
    counts: findCounter(usage, dialect, reporter),
    cost: costSource === 'priced' && approximation !== undefined ? 'estimated' : COSTS[costSource],
    ...present({ reportedBy: reporter, priceRef, approximation, unpricedReason, feesUsd }),
  };
}

const COSTS = { reported: 'reported', priced: 'computed', unpriced: 'unknown' } as const;

function findCounter(usage: Usage, dialect: string, reporter: string | undefined): Origin['counts'] {
  if (usage.inputTokens === undefined && usage.outputTokens === undefined) return 'unknown';
  if (usage.countsFrom !== undefined) return usage.countsFrom;
  if (dialect === OTLP_DIALECT) return 'instrumentation';
  return reporter === undefined ? 'client' : 'adapter';
}

/** The instrumentation's scope, or the framework of an adapter, with its version. */
function readReporter(dialect: string, { otlp, framework, framework_version: version }: JsonObject) {
  if (dialect === OTLP_DIALECT) {
    const { scope, scopeVersion } = isObject(otlp) ? otlp : {};
    return named(scope, scopeVersion);
  }
  return named(framework, version);
}

function named(name: unknown, version: unknown): string | undefined {
  if (typeof name !== 'string' || name === '') return undefined;
  return typeof version === 'string' && version !== '' ? `${name} ${version}` : name;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function present<T extends object>(members: T): { [Name in keyof T]?: NonNullable<T[Name]> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}
