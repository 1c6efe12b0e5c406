import type { IncomingHttpHeaders } from 'node:http';

/** The key that a request sends in its `Authorization` header, unchecked. */
export function bearerOf({ headers }: { readonly headers: IncomingHttpHeaders }): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
}
