import { type AlertLabels, canonicalJson, sha256Hex } from '@agentlens/contracts';
import { type AlertsTable, type OpenSilence, ownLabels, readOpenSilences, type Tables } from '@agentlens/database';
import { globMatches } from '@agentlens/guardrails/names';
import { type ActiveSilence, readStoredMatchers, readStoredRouting, type StoredRoutes } from '@agentlens/routing';
import { type Kysely, type Selectable, sql } from 'kysely';

type Db = Kysely<Tables>;
type AlertRow = Selectable<AlertsTable>;

/** Purpose of the lock that keeps placing alerts apart from a change of the routes. */
export const ROUTING_LOCK = 'routing';

interface CurrentRouting {
  readonly version: number;
  readonly routes: StoredRoutes;
}

const MAX_REMEMBERED = 1_000;
/** Routes by tenant. A version never changes, so an entry is stale only by its number. */
const ROUTES = new Map<string, CurrentRouting>();

/** The routes in force; undefined if the tenant has none. If they cannot be read, the default channels take all alerts. */
export async function readRoutes(db: Db, tenantId: string): Promise<StoredRoutes | undefined> {
  const newest = await db
    .selectFrom('routing_documents')
    .select(({ fn }) => fn.max('version').as('version'))
    .where('tenant_id', '=', tenantId)
    .executeTakeFirst();
  const version = newest?.version ?? null;
  if (version === null) return undefined;
  const known = ROUTES.get(tenantId);
  if (known?.version === version) return known.routes;
  const { body } = await db
    .selectFrom('routing_documents')
    .select('body')
    .where('tenant_id', '=', tenantId)
    .where('version', '=', version)
    .executeTakeFirstOrThrow();
  const routes = readStoredRouting(body, await readEnabledChannels(db, tenantId));
  // The default channels change without the version.
  if (!routes.isDefault) remember(tenantId, { version, routes });
  return routes;
}

async function readEnabledChannels(db: Db, tenantId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('channels')
    .select('channel_id')
    .where('tenant_id', '=', tenantId)
    .where('enabled', '=', true)
    .orderBy('channel_id')
    .execute();
  return rows.map(({ channel_id }) => channel_id);
}

function remember(tenantId: string, current: CurrentRouting): void {
  ROUTES.delete(tenantId);
  ROUTES.set(tenantId, current);
  const [oldest] = ROUTES.keys();
  if (ROUTES.size > MAX_REMEMBERED && oldest !== undefined) ROUTES.delete(oldest);
}

/** Labels of a new alert. If several teams own the agent, the label has the first of their ids. */
export async function readLabels(
  db: Db,
  alert: Pick<AlertRow, 'tenant_id' | 'kind' | 'severity' | 'agent_id' | 'rule_id' | 'approval'>,
): Promise<AlertLabels> {
  const { rows } = await sql<{
    readonly team: string | null;
    readonly patterns: readonly string[] | null;
    readonly rule: string | null;
  }>`
    select t.team_id as team, t.agents as patterns, r.name as rule
    from (select 1) as one
      left join guardrail_rules r on r.tenant_id = ${alert.tenant_id} and r.rule_id = ${alert.rule_id}
      left join teams t on t.tenant_id = ${alert.tenant_id} and cardinality(t.agents) > 0
    order by t.team_id
  `.execute(db);
  const owner = rows.find(({ patterns }) => patterns?.some((glob) => globMatches(glob, alert.agent_id)));
  const rule = rows[0]?.rule ?? null;
  return {
    ...ownLabels(alert),
    ...(rule === null ? {} : { rule_name: rule }),
    ...(owner?.team === null || owner === undefined ? {} : { team: owner.team }),
  };
}

/** Silences of these tenants that are in force or will be. */
export async function readSilences(
  db: Db,
  tenantIds: readonly string[],
  nowMs: number,
): Promise<ReadonlyMap<string, readonly ActiveSilence[]>> {
  const open = await readOpenSilences(db, tenantIds, nowMs);
  return Map.groupBy(open.map(parseSilence), ({ tenantId }) => tenantId);
}

function parseSilence({ matchers, ...silence }: OpenSilence) {
  return { ...silence, matchers: readStoredMatchers(matchers).matchers };
}

/** Identifies what a channel shows of the alerts of a route. */
export function groupKey(routeId: string, channelId: string, labels: Readonly<Record<string, string>>): string {
  return sha256Hex(canonicalJson([routeId, channelId, labels]));
}
