import { createClient } from '../../../../libs/client/src/index.ts';

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

const TIMEOUT_MS = 20_000;

/** Client for every operation of the platform. The browser's cookie is the session. */
export const client = createClient({ baseUrl: baseUrl(), timeoutMs: TIMEOUT_MS, fetch: fetchWithPageSecret });

const PAGE_SECRET = 'agentlens.page-secret';

/** Signs this browser in. Storage belongs to this origin: pages of other ports of the host cannot read the secret. */
export async function signIn(body: { readonly key: string } | { readonly code: string }): Promise<void> {
  const { pageSecret } = await client.createSession({ body });
  localStorage.setItem(PAGE_SECRET, pageSecret);
}

export async function signOut(): Promise<void> {
  await client.endSession();
  localStorage.removeItem(PAGE_SECRET);
}

function fetchWithPageSecret(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const secret = localStorage.getItem(PAGE_SECRET);
  if (secret !== null) headers.set('x-agentlens-page', secret);
  return fetch(input, { ...init, headers });
}

/** Client with a key of its own instead of the cookie. */
export function clientWith(key: string) {
  return createClient({ baseUrl: baseUrl(), timeoutMs: TIMEOUT_MS, key });
}

function baseUrl(): string {
  return new URL('.', document.baseURI).href.replace(/\/$/, '');
}

/** Address of a platform path, also below the prefix of a proxy. */
export function addressOf(path: string, query: Query = {}): string {
  const url = new URL(path.replace(/^\//, ''), document.baseURI);
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value));
  return url.href;
}
