import { type Alert, AppliedPolicy, type ApprovalCall, type ChannelConfig } from '@agentlens/contracts';
import { type AlertsTable, alertFromRow, type Tables } from '@agentlens/database';
import type { ActionDependencies, ActionOutcome } from '@agentlens/guardrails';
import { outcomeOfSilence, webhookHeaders } from '@agentlens/guardrails/actions';
import type { SecretBox } from '@agentlens/platform';
import type { Kysely, Selectable } from 'kysely';
import { type ChannelKinds, openConfig } from './channel-kinds.ts';
import { type ChannelRow, kindOf, parseConfig } from './channels.repository.ts';
import { GatheredReads, nameKey, type RowKey, readAlertRows, readChannelRows } from './gathered-reads.ts';
import type { HttpChannelKind, Notice } from './notice.ts';
import type { ChannelNoticeConfig } from './notice-queue.ts';

interface SenderDependencies {
  readonly db: Kysely<Tables>;
  readonly secrets: Pick<SecretBox, 'open' | 'isSealed'>;
  readonly kinds: ChannelKinds;
  /** The call that an approval is about; undefined if none was kept. */
  readonly readCall: (approval: {
    readonly tenant_id: string;
    readonly alert_id: string;
  }) => Promise<ApprovalCall | undefined>;
  readonly publicUrl: string | undefined;
}

export interface QueuedNotice {
  readonly tenantId: string;
  readonly triggeredAt: string;
  readonly config: ChannelNoticeConfig;
  /** Receipt of the delivery before this one with the same order key. */
  readonly prior: string | undefined;
}

/** Renders a notice from the alerts and the channel as they are now, and sends it. */
export class ChannelSender {
  readonly #channels: GatheredReads<RowKey, ChannelRow>;
  readonly #alerts: GatheredReads<RowKey, Selectable<AlertsTable>>;

  constructor(private readonly dependencies: SenderDependencies) {
    const { db } = dependencies;
    this.#channels = new GatheredReads((keys) => readChannelRows(db, keys), nameKey);
    this.#alerts = new GatheredReads((keys) => readAlertRows(db, keys), nameKey);
  }

  async send(queued: QueuedNotice, tools: ActionDependencies): Promise<ActionOutcome> {
    const { kinds, secrets } = this.dependencies;
    const { tenantId, config: about } = queued;
    const row = await this.#channels.read({ tenantId, id: about.channelId });
    if (row === undefined) return { kind: 'rejected', reason: 'the channel was deleted' };
    if (!row.enabled) return { kind: 'rejected', reason: 'the channel is switched off' };
    const module = kinds.find(kindOf(row));
    const opened = parseConfig(openConfig(secrets, module, { tenantId, channelId: row.channel_id }, row.config));
    const config =
      opened.kind === 'email' && about.recipient !== undefined ? { ...opened, to: [about.recipient] } : opened;
    const notice = await this.#read(queued);
    if ('send' in module) return module.send(config, notice, tools);
    const { outcome, instead } = await sendOver(module, config, notice, tools);
    return instead === undefined ? outcome : (await sendOver(module, config, instead, tools)).outcome;
  }

  async #read({ tenantId, triggeredAt: at, config, prior }: QueuedNotice): Promise<Notice> {
    const { readCall, publicUrl } = this.dependencies;
    const { channelId, noticeId: id, reason, route, group, more, everyMs } = config;
    const wanted = [...config.firing, ...config.resolved];
    const read = await Promise.all(wanted.map((alertId) => this.#alerts.read({ tenantId, id: alertId })));
    const rows = read.filter((row) => row !== undefined);
    const alerts = new Map(rows.map((row) => [row.alert_id, alertFromRow(row)]));
    const found = (ids: readonly string[]): Alert[] => ids.flatMap((one) => alerts.get(one) ?? []);
    const [approval] = rows.filter(({ kind }) => kind === 'approval');
    const policy =
      approval?.policy === null || approval === undefined ? undefined : AppliedPolicy.parse(approval.policy);
    return {
      ...{ id, tenantId, channelId, reason, route, at, group, more, everyMs, prior, publicUrl },
      ...{ firing: found(config.firing), resolved: found(config.resolved) },
      deleted: config.resolved.filter((one) => !alerts.has(one)),
      call: approval === undefined ? undefined : await readCall(approval),
      mayVote: policy === undefined || policy.policy.via.includes('slack'),
    };
  }
}

interface Sent {
  readonly outcome: ActionOutcome;
  /** What to send in place of a notice that was refused. */
  readonly instead?: Notice | undefined;
}

async function sendOver(
  module: HttpChannelKind<ChannelConfig>,
  config: ChannelConfig,
  notice: Notice,
  tools: ActionDependencies,
): Promise<Sent> {
  const rendered = module.render(config, notice);
  if (rendered === undefined) return { outcome: { kind: 'delivered', detail: 'nothing to send' } };
  const { request, sign } = rendered;
  const response = await tools.send({
    ...request,
    headers: { ...request.headers, ...webhookHeaders({ secret: sign, body: request.body ?? '' }, tools) },
  });
  if (response.kind !== 'answered') return { outcome: outcomeOfSilence(response) };
  const outcome = module.read(response, notice, tools.now());
  return { outcome, instead: outcome.kind === 'rejected' ? module.replace?.(notice, response) : undefined };
}
