import { z } from 'zod';
import { displayName } from './ids.ts';

/** Lists of the console that can have saved views. */
export const VIEW_PAGES = ['runs', 'decisions', 'alerts'] as const;
export type ViewPage = (typeof VIEW_PAGES)[number];

/** Maximum saved views of a tenant. */
export const MAX_SAVED_VIEWS = 100;

/** Filter of a list under a name, shared by the people of the tenant. */
export const SavedViewDraft = z.strictObject({
  page: z.enum(VIEW_PAGES, `must be one of ${VIEW_PAGES.join(', ')}`),
  name: displayName(z.string('must be a name such as "Failed today"').trim()).max(80, 'must be at most 80 characters'),
  /** Query of the list's address, such as `?status=failed&range=24h`. */
  query: z
    .string('must be the query of an address, such as ?status=failed')
    .max(2000, 'must be at most 2000 characters')
    .regex(/^(\?[!-~]*)?$/, 'must be the query of an address, such as ?status=failed, percent-encoded'),
});
export type SavedViewDraft = z.infer<typeof SavedViewDraft>;
