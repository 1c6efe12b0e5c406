import { z } from 'zod';

/** Counting further costs more than anybody learns from it. */
export const MOST_COUNTED = 10_000;

/** How many rows match, of which a page shows some. */
export const Total = {
  total: z.int().meta({ description: `How many match, counted up to ${MOST_COUNTED.toLocaleString('en')}.` }),
  totalRelation: z.enum(['eq', 'gte']).meta({ description: '`gte`: there are more than `total`; `eq`: that many.' }),
};
export type Total = z.infer<z.ZodObject<typeof Total>>;
