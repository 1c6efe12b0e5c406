import { z } from 'zod';

/** Unit of isolation, derived only from the API key. Always safe as a NATS subject token. */
export const TenantId = z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be 1-40 characters of a-z, 0-9 and "-"');
export type TenantId = z.infer<typeof TenantId>;

/** Reserved tenant that holds the keys with the scope `platform`, so that no tenant admin can list or replace them. */
export const PLATFORM_TENANT = 'platform';

/** Clients choose agent, run, session and event ids: any printable text up to 256 characters. */
export const ClientId = z
  .string()
  .min(1, 'must not be empty')
  .max(256, 'must be at most 256 characters')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused
  .regex(/^[^\u0000-\u001f\u007f]+$/, 'must not contain control characters');

/** A display name: one line of printable text that a database can store. `text` may trim. */
export function displayName(text: z.ZodString): z.ZodString {
  return (
    text
      .min(1, 'must not be empty')
      .max(200, 'must be at most 200 characters')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused
      .regex(/^[^\u0000-\u001f\u007f]*$/, 'must not contain control characters')
  );
}

/** RFC 3339 time in UTC with milliseconds, the only format stored or published. */
export const Instant = z.iso.datetime({ precision: 3 });
