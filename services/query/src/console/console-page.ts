/** One or more plain path segments. Nothing in them can end an HTML attribute. */
const PREFIX = /^(\/[\w.~-]+)+$/;

/** Returns the path at which the browser sees the console: the prefix that the proxy stripped, else the root. */
export function basePath(forwardedPrefix: string | string[] | undefined): string {
  const prefix = [forwardedPrefix].flat()[0]?.replace(/\/$/, '') ?? '';
  return PREFIX.test(prefix) ? `${prefix}/` : '/';
}

/** Returns the page with its base and with the nonce for styles that its libraries inject. */
export function pageFor(page: string, base: string, nonce: string): string {
  return page
    .replace('<base href="/"', `<base href="${base}"`)
    .replace('property="csp-nonce" content=""', `property="csp-nonce" content="${nonce}" nonce="${nonce}"`);
}

/** Allows only this origin's scripts and addresses, and no framing. */
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
