import { getSettings, patchSettings, type RequestOf, updateSettings } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { foundOr404 } from '../http/found-or-404.ts';
import { SettingsRepository } from './settings.repository.ts';

const TENANT = 'Tenant';

@Controller()
export class SettingsController {
  constructor(private readonly settings: SettingsRepository) {}

  @Serves(getSettings)
  async get(@CurrentCaller() { tenantId }: Caller) {
    return foundOr404(TENANT, await this.settings.read(tenantId));
  }

  @Serves(updateSettings)
  async put(@CurrentCaller() { tenantId }: Caller, @FromRequest() { body }: RequestOf<typeof updateSettings>) {
    return foundOr404(TENANT, await this.settings.change(tenantId, body));
  }

  @Serves(patchSettings)
  async patch(@CurrentCaller() { tenantId }: Caller, @FromRequest() { body }: RequestOf<typeof patchSettings>) {
    return foundOr404(TENANT, await this.settings.change(tenantId, body));
  }
}
