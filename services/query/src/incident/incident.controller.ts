import { DAY_MS } from '@agentlens/contracts';
import { getIncident, type Incident, type RequestOf, withEnds } from '@agentlens/operations';
import { type Caller, type Clock, CurrentCaller, FromRequest, port, Serves } from '@agentlens/platform';
import { Controller, Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { AlertsQueries } from '../alerts/alerts.queries.ts';
import { AuditQueries } from '../audit/audit.controller.ts';
import { Refusals } from '../decisions/refusals.ts';
import { messageStatus, messageType } from '../guardrails/deliveries.queries.ts';
import { TenantReads } from '../http/tenant-reads.ts';
import { incidentText } from './incident-text.ts';

const PAGE = { limit: 200, offset: 0 };
const MAX_AGENTS = 50;

interface Range {
  readonly from: string;
  readonly to: string;
}

/** Deliveries and costs between two instants. */
@Injectable()
export class IncidentQueries {
  constructor(private readonly reads: TenantReads) {}

  async notices(tenantId: string, { from, to }: Range): Promise<Incident['notices']> {
    const { rows } = await this.reads.read(tenantId, (db) =>
      sql<
        Omit<Incident['notices'][number], 'event' | 'status' | 'receiver'> & {
          event: string | null;
          status: string | null;
          name: string | null;
          url: string | null;
        }
      >`
        select d.created_at as at, w.name, w.url, d.agent_id as about, d.result,
          coalesce(${messageType('d')}, d.action_type) as event, ${messageStatus('d')} as status
        from deliveries d
        left join webhook_endpoints w on w.tenant_id = d.tenant_id and w.webhook_id = d.webhook_id
        where d.tenant_id = ${tenantId} and d.created_at >= ${from}::timestamptz and d.created_at <= ${to}::timestamptz
        order by d.created_at desc, d.delivery_id limit ${sql.lit(PAGE.limit)}`.execute(db),
    );
    return rows.toReversed().map(({ event, status, name, url, ...rest }) => ({
      ...rest,
      receiver: name ?? (url === null ? (event ?? '') : new URL(url).host),
      ...(event === null ? {} : { event }),
      ...(status === null ? {} : { status }),
    }));
  }

  async costs(tenantId: string, { from, to }: Range): Promise<Incident['costs']> {
    const { rows } = await this.reads.read(tenantId, (db) =>
      sql<Incident['costs'][number]>`
        with grain as (
          select case when exists (
            select from activity where tenant_id = ${tenantId} and grain = 'minute' and bucket < ${from}::timestamptz
          ) or not exists (
            select from activity where tenant_id = ${tenantId} and grain = 'hour' and bucket < ${from}::timestamptz
          ) then 'minute' else 'hour' end as kept
        )
        select agent_id as "agentId", coalesce(sum(cost_usd), 0)::float as "costUsd", sum(event_count)::int as events,
          sum(decision_count)::int as decisions, sum(blocked_count)::int as blocked
        from activity, grain
        where tenant_id = ${tenantId} and activity.grain = grain.kept and bucket <= ${to}::timestamptz
          and bucket >= date_trunc(grain.kept, ${from}::timestamptz, 'UTC')
        group by agent_id order by 2 desc, agent_id limit ${sql.lit(MAX_AGENTS)}`.execute(db),
    );
    return rows;
  }
}

@Controller()
export class IncidentController {
  constructor(
    private readonly incident: IncidentQueries,
    private readonly audit: AuditQueries,
    private readonly alerts: AlertsQueries,
    private readonly refusals: Refusals,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  @Serves(getIncident)
  async get(@CurrentCaller() { tenantId }: Caller, @FromRequest() { query }: RequestOf<typeof getIncident>) {
    const nowMs = this.clock.now();
    const { from, to = new Date(nowMs).toISOString() } = withEnds(query, nowMs);
    const range = { from: from ?? new Date(Date.parse(to) - DAY_MS).toISOString(), to };
    const [changes, { groups }, approvals, notices, costs] = await Promise.all([
      this.audit.list(tenantId, { ...PAGE, ...range }),
      this.refusals.list(tenantId, range),
      this.alerts.list(tenantId, { ...PAGE, ...range }),
      this.incident.notices(tenantId, range),
      this.incident.costs(tenantId, range),
    ]);
    const facts = {
      ...{ ...range, refusals: groups, notices, costs },
      ...{ changes: changes.items.toReversed(), approvals: approvals.items.toReversed() },
    };
    return { ...facts, markdown: incidentText(facts) };
  }
}
