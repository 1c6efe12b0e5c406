import { Instant, MAX_SAVED_VIEWS, SavedViewDraft, VIEW_PAGES } from '@agentlens/contracts/schemas';
import { z } from 'zod';
import { operation } from '../operation.ts';
import { IdPath } from '../parameters.ts';

const TAG = 'Saved views';

export const SavedView = SavedViewDraft.extend({
  id: z.string(),
  updatedAt: Instant,
  updatedBy: z.string().meta({ description: 'The person or key that saved it last.' }),
}).meta({ id: 'SavedView' });
export type SavedView = z.infer<typeof SavedView>;

export const listSavedViews = operation({
  id: 'listSavedViews',
  method: 'get',
  path: '/api/saved-views',
  tag: TAG,
  summary: 'Saved views of the tenant, by page and name.',
  scope: 'read',
  query: z.object({ page: z.enum(VIEW_PAGES).optional() }),
  response: z.object({ views: z.array(SavedView) }),
});

export const setSavedView = operation({
  id: 'setSavedView',
  method: 'put',
  path: '/api/saved-views',
  tag: TAG,
  summary: `Save the filter of a list under a name. It replaces the view of the page with that name. A tenant has at most ${MAX_SAVED_VIEWS}.`,
  scope: 'review',
  body: SavedViewDraft.meta({ id: 'SavedViewDraft' }),
  examples: { failedToday: { page: 'runs', name: 'Failed today', query: '?status=failed&range=24h' } },
  response: SavedView,
  problems: [409],
});

export const deleteSavedView = operation({
  id: 'deleteSavedView',
  method: 'delete',
  path: '/api/saved-views/:id',
  tag: TAG,
  summary: 'Delete a saved view.',
  scope: 'review',
  params: IdPath,
  response: z.object({ ok: z.literal(true) }),
  problems: [404],
});
