import type { SignInRefused } from './sign-in-refused.ts';

/** Nothing may run or load on these pages, and no other page may frame them. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (letter) => ENTITIES[letter] ?? '').replace(/[\p{Cf}\p{Cc}]/gu, '\ufffd');
}

/** The page of a refused sign-in. */
export function refusedPage({ message, hint, claims }: SignInRefused, signInPath: string): string {
  const looked =
    claims.length === 0
      ? ''
      : `<p>Claims that were looked at: ${claims.map((claim) => `<code>${escapeHtml(claim)}</code>`).join(', ')}.</p>`;
  return page(
    'Sign-in refused',
    `<p>${escapeHtml(message)}.</p>${looked}<p>${escapeHtml(hint)}</p><p><a href="${escapeHtml(signInPath)}">Back to sign-in</a></p>`,
  );
}

interface TestedSignIn {
  readonly claims: Readonly<Record<string, unknown>>;
  readonly rights: readonly string[];
  readonly verdict: string;
}

/** The page of a test: claims on one side, what they give on the other. */
export function testedPage({ claims, rights, verdict }: TestedSignIn): string {
  const rows = Object.entries(claims).map(
    ([name, value]) =>
      `<tr><td><code>${escapeHtml(name)}</code></td><td><code>${escapeHtml(JSON.stringify(value)).slice(0, 4_000)}</code></td></tr>`,
  );
  const list = rights.map((right) => `<li>${escapeHtml(right)}</li>`).join('');
  return page(
    'Test of a sign-in',
    `<p>${escapeHtml(verdict)} Nothing was changed.</p><h2>Roles and teams</h2><ul>${list}</ul><h2>Claims</h2><table>${rows.join('')}</table>`,
  );
}

function page(title: string, body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem;overflow-wrap:anywhere;color-scheme:light dark}td{vertical-align:top;padding:.2rem .6rem .2rem 0}</style>
<h1>${title}</h1>${body}</html>`;
}
