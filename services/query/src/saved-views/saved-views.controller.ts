import { deleteSavedView, listSavedViews, type RequestOf, setSavedView } from '@agentlens/operations';
import { type Caller, CurrentCaller, FromRequest, Serves } from '@agentlens/platform';
import { Controller } from '@nestjs/common';
import { foundOr404 } from '../http/found-or-404.ts';
import { KeyNames } from '../keys/key-names.ts';
import { SavedViewsRepository } from './saved-views.repository.ts';

@Controller()
export class SavedViewsController {
  constructor(
    private readonly views: SavedViewsRepository,
    private readonly names: KeyNames,
  ) {}

  @Serves(listSavedViews)
  async list(@CurrentCaller() { tenantId }: Caller, @FromRequest() { query }: RequestOf<typeof listSavedViews>) {
    return { views: await this.views.list(tenantId, query.page) };
  }

  @Serves(setSavedView)
  async set(@CurrentCaller() caller: Caller, @FromRequest() { body }: RequestOf<typeof setSavedView>) {
    const { author } = await this.names.authorOf(caller);
    return this.views.set(body, { tenantId: caller.tenantId, author });
  }

  @Serves(deleteSavedView)
  async delete(@CurrentCaller() caller: Caller, @FromRequest() { params }: RequestOf<typeof deleteSavedView>) {
    const { author } = await this.names.authorOf(caller);
    const deleted = await this.views.delete(params.id, { tenantId: caller.tenantId, author });
    foundOr404('Saved view', deleted ? true : undefined);
    return { ok: true as const };
  }
}
