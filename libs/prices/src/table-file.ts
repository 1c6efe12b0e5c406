import { z } from 'zod';

const Match = z.json();
const Prices = z.record(z.string(), z.union([z.number().nonnegative(), z.looseObject({ base: z.number() })]));

/**
 * A price table as an operator loads it: the format of `data.json` of the project genai-prices, version 2, which is an
 * array of providers. Its version is a name of the operator's choice, such as the date.
 */
export const TableFile = z
  .array(
    z.looseObject({
      id: z.string().min(1).max(100),
      name: z.string().max(200),
      api_pattern: z.string().max(1_000),
      models: z
        .array(
          z.looseObject({
            id: z.string().min(1).max(300),
            match: Match,
            prices: z.union([z.array(z.looseObject({ prices: Prices })).min(1), Prices]),
          }),
        )
        .max(5_000),
    }),
  )
  .min(1)
  .max(300);
export type TableFile = z.infer<typeof TableFile>;
