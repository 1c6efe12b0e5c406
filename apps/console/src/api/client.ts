import { createClient } from '../../../../libs/client/src/index.ts';

export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

const TIMEOUT_MS = 20_000;

/** Client for every operation of the platform. The browser's cookie is the session. */
export const client = createClient({ baseUrl: baseUrl(), timeoutMs: TIMEOUT_MS, fetch: fetchWithPageSecret });

const PAGE_SECRET = 'agentlens.page-secret';

/**
 * Signs this browser in. Storage belongs to this origin: pages of other ports of the host cannot read the secret.
 * @returns the path of the console that the sign-in began at, if it is known
 */
export async function signIn(body: { readonly key: string } | { readonly code: string }): Promise<string | undefined> {
  const { pageSecret, returnTo } = await client.createSession({ body });
  localStorage.setItem(PAGE_SECRET, pageSecret);
  return returnTo;
}

/** Address that signs in with a provider and returns to a page of the console. */
export function signInAddress(
  providerId: string,
  { returnTo = pathHere(), fresh = false }: { readonly returnTo?: string; readonly fresh?: boolean } = {},
): string {
  return addressOf(`api/auth/oidc/${encodeURIComponent(providerId)}/start`, {
    ...(returnTo === '/' ? {} : { returnTo }),
    ...(fresh ? { fresh } : {}),
  });
}

/** Path and query of this page, below the prefix of a proxy. */
function pathHere(): string {
  const { pathname } = new URL(document.baseURI);
  const path = `/${location.pathname.slice(pathname.length)}${location.search}`;
  return path.startsWith('/sign-in') ? '/' : path;
}

export async function signOut(): Promise<void> {
  await client.endSession();
  localStorage.removeItem(PAGE_SECRET);
}

/** Ends the sessions of all browsers, this one included. Personal keys stay. */
export async function signOutEverywhere(): Promise<void> {
  await client.endOwnSessions();
  await signOut();
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
