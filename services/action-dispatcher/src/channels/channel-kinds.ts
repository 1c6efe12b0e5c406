import type { ChannelConfig, ChannelKind } from '@agentlens/contracts';
import type { SecretBox } from '@agentlens/platform';
import { alertmanager } from './kinds/alertmanager.ts';
import { alertmanagerWebhook } from './kinds/alertmanager-webhook.ts';
import { createEmailKind, type OpenSocket } from './kinds/email.ts';
import { pagerDuty } from './kinds/pagerduty.ts';
import { signedWebhook } from './kinds/signed-webhook.ts';
import { slackApp } from './kinds/slack-app.ts';
import { slackWebhook } from './kinds/slack-webhook.ts';
import { teams } from './kinds/teams.ts';
import type { AnyChannelModule, ChannelModule } from './notice.ts';

/** Action type of deliveries to channels. No rule can use it as its action. */
export const CHANNEL_NOTICE = 'channel_notice';

/** The kinds of channels. A new kind is one module and one line here. */
export class ChannelKinds {
  readonly #modules: { readonly [K in ChannelKind]: ChannelModule<K> };

  constructor(openSocket: OpenSocket) {
    this.#modules = {
      slack_app: slackApp,
      slack_webhook: slackWebhook,
      teams,
      pagerduty: pagerDuty,
      alertmanager,
      alertmanager_webhook: alertmanagerWebhook,
      email: createEmailKind(openSocket),
      webhook: signedWebhook,
    };
  }

  /** The config that is passed to a module is of its kind: `ChannelConfig` is parsed first. */
  find(kind: ChannelKind): AnyChannelModule {
    return this.#modules[kind] as AnyChannelModule;
  }
}

type SealedConfig = Readonly<Record<string, unknown>>;

/** Binds sealed secrets to their channel. */
function contextOf(tenantId: string, channelId: string): readonly string[] {
  return [tenantId, 'channels', channelId];
}

export function sealConfig(
  secrets: Pick<SecretBox, 'seal'>,
  { secrets: keys }: AnyChannelModule,
  { tenantId, channelId }: { readonly tenantId: string; readonly channelId: string },
  config: ChannelConfig,
): SealedConfig {
  return mapSecrets(keys, config, (text) => secrets.seal(text, contextOf(tenantId, channelId)));
}

/** @throws Error if a secret was altered, or sealed with a key that this process does not have */
export function openConfig(
  secrets: Pick<SecretBox, 'open' | 'isSealed'>,
  { secrets: keys }: AnyChannelModule,
  { tenantId, channelId }: { readonly tenantId: string; readonly channelId: string },
  config: SealedConfig,
): SealedConfig {
  return mapSecrets(keys, config, (text) =>
    secrets.isSealed(text) ? secrets.open(text, contextOf(tenantId, channelId)) : text,
  );
}

function mapSecrets(keys: readonly string[], config: SealedConfig, change: (text: string) => string): SealedConfig {
  return Object.fromEntries(
    Object.entries(config).map(([key, value]) => [
      key,
      keys.includes(key) && typeof value === 'string' ? change(value) : value,
    ]),
  );
}
