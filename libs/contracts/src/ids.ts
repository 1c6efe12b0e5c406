import { z } from 'zod';

/** Isolation unit. Comes from the API key and from nowhere else. Safe as a NATS subject token by construction. */
export const TenantId = z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be 1-40 characters of a-z, 0-9 and "-"');
export type TenantId = z.infer<typeof TenantId>;

/** Where the keys with the scope `platform` are kept: reserved, so that no admin of a tenant can list or replace them. */
export const PLATFORM_TENANT = 'platform';

/** Agent, run, session and event ids are chosen by clients: any printable text up to 256 characters. */
export const ClientId = z
  .string()
  .min(1, 'must not be empty')
  .max(256, 'must be at most 256 characters')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused
  .regex(/^[^\u0000-\u001f\u007f]+$/, 'must not contain control characters');

/** What people call something: a line of printable text that a database can keep. `text` may be trimmed. */
export function displayName(text: z.ZodString): z.ZodString {
  return (
    text
      .min(1, 'must not be empty')
      .max(200, 'must be at most 200 characters')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is refused
      .regex(/^[^\u0000-\u001f\u007f]*$/, 'must not contain control characters')
  );
}

/** RFC 3339 instant in UTC with millisecond precision, the only form stored or published. */
export const Instant = z.iso.datetime({ precision: 3 });
