import { otherVersion } from '@agentlens/contracts';
import {
  getSettings,
  patchSettings,
  type RequestOf,
  type TenantSettingsPatch,
  updateSettings,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, ProblemException, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { foundOr404 } from '../http/found-or-404.ts';
import { KeyNames } from '../keys/key-names.ts';
import { SettingsRepository } from './settings.repository.ts';

const TENANT = 'Tenant';

@Controller()
export class SettingsController {
  constructor(
    private readonly settings: SettingsRepository,
    private readonly names: KeyNames,
  ) {}

  @Serves(getSettings)
  async get(@CurrentCaller() { tenantId }: Caller) {
    return foundOr404(TENANT, await this.settings.read(tenantId));
  }

  @Serves(updateSettings)
  put(@CurrentCaller() caller: Caller, @FromRequest() { body, headers }: RequestOf<typeof updateSettings>) {
    return this.change(caller, body, headers['if-match']);
  }

  @Serves(patchSettings)
  patch(@CurrentCaller() caller: Caller, @FromRequest() { body, headers }: RequestOf<typeof patchSettings>) {
    return this.change(caller, body, headers['if-match']);
  }

  private async change(caller: Caller, patch: TenantSettingsPatch, ifVersion: number | undefined) {
    const { author } = await this.names.authorOf(caller);
    const changed = await this.settings.change(caller.tenantId, patch, author, ifVersion);
    const { settings, current } = foundOr404(TENANT, changed);
    if (settings !== undefined) return settings;
    throw ProblemException.from(otherVersion('settings', ifVersion, current).problem);
  }
}
