import {
  type ChangeAuthor,
  MAX_SAVED_VIEWS,
  type SavedViewDraft,
  timeOrderedId,
  type ViewPage,
} from '@agentlens/contracts';
import { type Database, lockUntilEnd, recordChanges, type Tables } from '@agentlens/database';
import { deleteSavedView, listSavedViews, type RequestOf, type SavedView, setSavedView } from '@agentlens/operations';
import {
  type Caller,
  type Clock,
  CurrentCaller,
  FromRequest,
  ProblemException,
  port,
  Serves,
} from '@agentlens/platform';
import { Controller, Inject, Injectable } from '@nestjs/common';
import type { Selectable } from 'kysely';
import { foundOr404, TenantReads } from '../http/tenant-reads.ts';
import { KeyNames } from '../keys/key-names.ts';

interface Change {
  readonly tenantId: string;
  readonly author: ChangeAuthor;
}

/** Saved views of tenants. This service is their only writer. */
@Injectable()
export class SavedViewsRepository {
  constructor(
    private readonly reads: TenantReads,
    @Inject(port('database')) private readonly database: Database,
    @Inject(port('clock')) private readonly clock: Clock,
  ) {}

  async list(tenantId: string, page?: ViewPage): Promise<SavedView[]> {
    const rows = await this.reads.read(tenantId, (db) => {
      const views = db.selectFrom('saved_views').selectAll().where('tenant_id', '=', tenantId);
      return (page === undefined ? views : views.where('page', '=', page))
        .orderBy('page')
        .orderBy('name')
        .limit(MAX_SAVED_VIEWS)
        .execute();
    });
    return rows.map(viewFromRow);
  }

  /** Creates a view or replaces the one of the same page and name. @throws ProblemException 409 at the maximum */
  async set(draft: SavedViewDraft, { tenantId, author }: Change): Promise<SavedView> {
    const at = new Date(this.clock.now()).toISOString();
    return this.database.db.transaction().execute(async (tx) => {
      await lockUntilEnd(tx, 'saved views', tenantId);
      const rows = await tx.selectFrom('saved_views').selectAll().where('tenant_id', '=', tenantId).execute();
      const same = rows.find(({ page, name }) => page === draft.page && name === draft.name);
      if (same === undefined && rows.length >= MAX_SAVED_VIEWS) {
        throw new ProblemException(409, `A tenant has at most ${MAX_SAVED_VIEWS} saved views`, {
          hint: 'Delete a view that is no longer needed, or save under the name of an existing view to replace it.',
        });
      }
      const values = {
        ...{ tenant_id: tenantId, view_id: same?.view_id ?? timeOrderedId(this.clock.now()), ...draft },
        ...{ updated_at: at, updated_by: author.person ?? author.keyName },
      };
      const row = await tx
        .insertInto('saved_views')
        .values(values)
        .onConflict((conflict) => conflict.columns(['tenant_id', 'view_id']).doUpdateSet(values))
        .returningAll()
        .executeTakeFirstOrThrow();
      const after = viewFromRow(row);
      const before = same && viewFromRow(same);
      await recordChanges(tx, [{ tenantId, at, kind: 'saved_view.set', targetId: after.id, author, before, after }]);
      return after;
    });
  }

  /** Returns false if there is no such view. */
  async delete(id: string, { tenantId, author }: Change): Promise<boolean> {
    const at = new Date(this.clock.now()).toISOString();
    return this.database.db.transaction().execute(async (tx) => {
      const row = await tx
        .deleteFrom('saved_views')
        .where('tenant_id', '=', tenantId)
        .where('view_id', '=', id)
        .returningAll()
        .executeTakeFirst();
      if (row === undefined) return false;
      const change = { tenantId, at, kind: 'saved_view.deleted', targetId: id, author } as const;
      await recordChanges(tx, [{ ...change, before: viewFromRow(row) }]);
      return true;
    });
  }
}

function viewFromRow(row: Selectable<Tables['saved_views']>): SavedView {
  return {
    id: row.view_id,
    // Only this service writes it, from the same list.
    page: row.page as ViewPage,
    name: row.name,
    query: row.query,
    updatedAt: row.updated_at,
    updatedBy: row.updated_by,
  };
}

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
