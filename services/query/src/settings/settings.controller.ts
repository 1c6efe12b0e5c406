import { otherVersion } from '@agentlens/contracts';
import {
  getSettings,
  getTreeLimits,
  patchSettings,
  type RequestOf,
  setTreeLimits,
  type TenantSettingsPatch,
  updateSettings,
} from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, ProblemException, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { foundOr404 } from '../http/tenant-reads.ts';
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

  @Serves(getTreeLimits)
  async treeLimits(@CurrentCaller() { tenantId }: Caller) {
    return { scope: 'tenant' as const, ...foundOr404(TENANT, await this.settings.treeLimits(tenantId)) };
  }

  @Serves(setTreeLimits)
  async setTreeLimits(@CurrentCaller() caller: Caller, @FromRequest() request: RequestOf<typeof setTreeLimits>) {
    const { author } = await this.names.authorOf(caller);
    const ifVersion = request.headers['if-match'];
    const result = await this.settings.setTreeLimits(caller.tenantId, request.body.limits, author, ifVersion);
    const { stored, current } = foundOr404(TENANT, result);
    if (stored !== undefined) return { scope: 'tenant' as const, ...stored };
    throw ProblemException.from(otherVersion('tree limits', ifVersion, current).problem);
  }
}
