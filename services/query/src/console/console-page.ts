/** One or more path segments, as a proxy names the prefix it took off: nothing that could end an attribute. */
const PREFIX = /^(\/[\w.~-]+)+$/;

/** Where the console lies for the browser: what the proxy says it took off the path, else the root. */
export function basePath(forwardedPrefix: string | string[] | undefined): string {
  const prefix = [forwardedPrefix].flat()[0]?.replace(/\/$/, '') ?? '';
  return PREFIX.test(prefix) ? `${prefix}/` : '/';
}

/** The built page for one answer: its base, and the nonce that styles made by its libraries carry. */
export function pageFor(page: string, base: string, nonce: string): string {
  return page
    .replace('<base href="/"', `<base href="${base}"`)
    .replace('property="csp-nonce" content=""', `property="csp-nonce" content="${nonce}" nonce="${nonce}"`);
}

/** No script but our own files, no other page around ours, no address but our own. */
export function contentSecurityPolicy(nonce: string): string {
  return [
    "default-src 'self'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "object-src 'none'",
    "base-uri 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');
}
