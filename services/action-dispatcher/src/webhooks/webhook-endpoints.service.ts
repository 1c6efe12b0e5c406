import { randomBytes } from 'node:crypto';
import {
  type ChangeAuthor,
  type ChangeKind,
  type NewWebhookEndpoint,
  ONLY_SLACK,
  otherVersion,
  takesFormat,
  timeOrderedId,
  type WebhookDraft,
  type WebhookEndpoint,
  type WebhookPatch,
} from '@agentlens/contracts';
import { recordChanges, type Tables, webhookFromRow } from '@agentlens/database';
import { type EgressPolicy, refuseAddress } from '@agentlens/egress';
import type { SecretBox } from '@agentlens/platform';
import type { Kysely, Transaction } from 'kysely';
import { type CommandAnswer, refusal } from '../answer.ts';
import { destinationOf } from '../destinations/destinations.ts';
import { queueFor } from './webhook.queue.ts';
import {
  countEndpoints,
  deleteEndpoint,
  type EndpointRow,
  enableDestination,
  endDeliveries,
  insertEndpoint,
  lockEndpoint,
  lockEndpoints,
  updateEndpoint,
} from './webhook-endpoints.repository.ts';
import { WEBHOOK_TEST } from './webhook-notice.ts';

interface WebhookEndpointsDependencies {
  readonly db: Kysely<Tables>;
  readonly secrets: SecretBox;
  readonly egressPolicy: EgressPolicy;
  readonly now: () => number;
  /** Called after a commit that queued a delivery. */
  readonly onQueued: () => void;
}

interface OfEndpoint {
  readonly tenantId: string;
  readonly webhookId: string;
  readonly author?: ChangeAuthor | undefined;
  /** The change applies only if the endpoint is at this version. */
  readonly ifVersion?: number | undefined;
}

/** Every endpoint can receive every event of the tenant. */
const MAX_ENDPOINTS = 20;
const SECRET_BYTES = 32;

/** Writer of `webhook_endpoints`. */
export class WebhookEndpointsService {
  constructor(private readonly dependencies: WebhookEndpointsDependencies) {}

  async create(
    tenantId: string,
    draft: WebhookDraft,
    author?: ChangeAuthor,
  ): Promise<CommandAnswer<NewWebhookEndpoint>> {
    const refused = this.#refusedAddress(draft.url);
    if (refused !== null) return refused;
    const now = this.dependencies.now();
    const at = new Date(now).toISOString();
    const webhookId = timeOrderedId(now);
    const { secret, sealed } = this.#newSecret(tenantId, webhookId);
    const row = {
      ...{ tenant_id: tenantId, webhook_id: webhookId, name: draft.name ?? null, url: draft.url },
      ...{ destination: idOf(draft.url), events: draft.events, format: draft.format, enabled: draft.enabled },
      ...{ secret: sealed, version: 1, created_at: at, updated_at: at },
    };
    return this.#transaction(async (tx) => {
      await lockEndpoints(tx, tenantId);
      if ((await countEndpoints(tx, tenantId)) >= MAX_ENDPOINTS) {
        return refusal(422, `A tenant has at most ${MAX_ENDPOINTS} webhooks`, 'Delete one that you no longer need.');
      }
      await insertEndpoint(tx, row);
      await record(tx, 'webhook.created', { author, after: row });
      return { ok: true, value: { ...webhookFromRow(row), secret } };
    });
  }

  async update(
    { tenantId, webhookId, author, ifVersion }: OfEndpoint,
    patch: WebhookPatch,
  ): Promise<CommandAnswer<WebhookEndpoint>> {
    const at = new Date(this.dependencies.now()).toISOString();
    return this.#transaction(async (tx) => {
      const row = await lockEndpoint(tx, tenantId, webhookId);
      if (row === undefined) return NOT_FOUND;
      if (ifVersion !== undefined && ifVersion !== row.version) return otherVersion('webhook', ifVersion, row.version);
      const { url = row.url, format = row.format } = patch;
      const isMoved = url !== row.url || format !== row.format;
      if (isMoved && !takesFormat({ url, format })) return WRONG_FORMAT;
      // An unchanged address is checked when it is called.
      const refused = patch.url === undefined || patch.url === row.url ? null : this.#refusedAddress(patch.url);
      if (refused !== null) return refused;
      const changed = await updateEndpoint(tx, row, {
        ...(patch.url === undefined ? {} : { url: patch.url, destination: idOf(patch.url) }),
        ...(patch.events === undefined ? {} : { events: patch.events }),
        ...(patch.format === undefined ? {} : { format: patch.format }),
        ...(patch.name === undefined ? {} : { name: patch.name }),
        ...(patch.enabled === undefined ? {} : { enabled: patch.enabled }),
        ...{ listens_since: JSON.stringify(listensSince(row, patch, at)) },
        ...{ version: row.version + 1, updated_at: at },
      });
      await record(tx, 'webhook.changed', { author, before: row, after: changed });
      if (patch.enabled === false) await endDeliveries(tx, changed, 'the webhook was switched off', at);
      if (patch.enabled === true) await enableDestination(tx, changed);
      return { ok: true, value: webhookFromRow(changed) };
    });
  }

  async delete({ tenantId, webhookId, author, ifVersion }: OfEndpoint): Promise<CommandAnswer<{ ok: true }>> {
    const at = new Date(this.dependencies.now()).toISOString();
    return this.#transaction(async (tx) => {
      const row = await lockEndpoint(tx, tenantId, webhookId);
      if (row === undefined) return NOT_FOUND;
      if (ifVersion !== undefined && ifVersion !== row.version) return otherVersion('webhook', ifVersion, row.version);
      await deleteEndpoint(tx, row);
      await record(tx, 'webhook.deleted', { author, before: { ...row, updated_at: at } });
      await endDeliveries(tx, row, 'the webhook was deleted', at);
      return { ok: true, value: { ok: true } };
    });
  }

  async rotateSecret({
    tenantId,
    webhookId,
    author,
    ifVersion,
  }: OfEndpoint): Promise<CommandAnswer<NewWebhookEndpoint>> {
    const at = new Date(this.dependencies.now()).toISOString();
    const { secret, sealed } = this.#newSecret(tenantId, webhookId);
    return this.#transaction(async (tx) => {
      const row = await lockEndpoint(tx, tenantId, webhookId);
      if (row === undefined) return NOT_FOUND;
      if (ifVersion !== undefined && ifVersion !== row.version) return otherVersion('webhook', ifVersion, row.version);
      const changed = await updateEndpoint(tx, row, { secret: sealed, version: row.version + 1, updated_at: at });
      await record(tx, 'webhook.secret_rotated', { author, before: row, after: changed });
      return { ok: true, value: { ...webhookFromRow(changed), secret } };
    });
  }

  /** Sends a test message, even if the endpoint is disabled or listens to nothing. */
  async test({ tenantId, webhookId }: OfEndpoint): Promise<CommandAnswer<{ deliveryId: string }>> {
    const now = this.dependencies.now();
    const timestamp = new Date(now).toISOString();
    const id = timeOrderedId(now);
    const answer = await this.#transaction<{ deliveryId: string }>(async (tx) => {
      const row = await lockEndpoint(tx, tenantId, webhookId);
      if (row === undefined) return NOT_FOUND;
      const message = { type: WEBHOOK_TEST, timestamp, data: { webhookId, tenantId } };
      const about = { id, ruleId: '', agentId: '' };
      const deliveryId = await queueFor(tx, row, { tenantId, event: 'alerts', message, key: id, about }, timestamp);
      return { ok: true, value: { deliveryId } };
    });
    if (answer.ok) this.dependencies.onQueued();
    return answer;
  }

  #transaction<T>(work: (tx: Transaction<Tables>) => Promise<CommandAnswer<T>>): Promise<CommandAnswer<T>> {
    return this.dependencies.db.transaction().execute(work);
  }

  #newSecret(tenantId: string, webhookId: string) {
    const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
    return { secret, sealed: this.dependencies.secrets.seal(secret, secretContext(tenantId, webhookId)) };
  }

  #refusedAddress(url: string): ReturnType<typeof refusal> | null {
    const message = refuseAddress(url, this.dependencies.egressPolicy);
    if (message === null) return null;
    return { ok: false, problem: { error: 'Validation failed', status: 400, details: [{ path: 'url', message }] } };
  }
}

/** Since when the endpoint listens. Events from before are not sent later. */
function listensSince(row: EndpointRow, patch: WebhookPatch, at: string): EndpointRow['listens_since'] {
  const added = (patch.events ?? []).filter((event) => !row.events.includes(event));
  const resumed = patch.enabled === true && !row.enabled ? row.events : [];
  return { ...row.listens_since, ...Object.fromEntries([...added, ...resumed].map((event) => [event, at])) };
}

const NOT_FOUND = refusal(404, 'Webhook not found');

const WRONG_FORMAT: ReturnType<typeof refusal> = {
  ok: false,
  problem: {
    error: 'Validation failed',
    status: 400,
    details: [{ path: ONLY_SLACK.path.join('.'), message: ONLY_SLACK.message }],
  },
};

/** Binds a sealed secret to its endpoint. */
export function secretContext(tenantId: string, webhookId: string): readonly string[] {
  return [tenantId, 'webhook_endpoints', webhookId];
}

function idOf(url: string): string {
  const destination = destinationOf(url);
  if (destination === null) throw new Error('cannot store a webhook whose address was not checked');
  return destination.id;
}

type Shown = Omit<EndpointRow, 'listens_since'>;

interface EndpointChange {
  readonly author: ChangeAuthor | undefined;
  readonly before?: Shown;
  readonly after?: Shown;
}

/** Writes the audit row at the time of the newer state. */
async function record(tx: Transaction<Tables>, kind: ChangeKind, { author, before, after }: EndpointChange) {
  const row = after ?? before;
  if (row === undefined) return;
  const { tenant_id: tenantId, webhook_id: targetId, updated_at: at } = row;
  const shown = { before: before && shownOf(before), after: after && shownOf(after) };
  await recordChanges(tx, [{ tenantId, at, kind, targetId, author, ...shown }]);
}

/** Anyone with the address of a Slack webhook can post there, so only its host is shown. */
function shownOf(row: Shown): object {
  return { ...webhookFromRow(row), url: `${new URL(row.url).origin}/…` };
}
