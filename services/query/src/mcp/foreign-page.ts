import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';

/**
 * Whether this comes from a web page that has no business here. Programs send no `Origin`. Pages must be of this very
 * address, and that address must be a number or this machine's own name: any other name could have been pointed at us for
 * the sake of that page (DNS rebinding).
 */
export function isForeignPage({ headers: { origin, host } }: Pick<FastifyRequest, 'headers'>): boolean {
  if (origin === undefined) return false;
  if (!URL.canParse(origin)) return true;
  const page = new URL(origin);
  return page.host !== host || !isUnrebindable(page.hostname);
}

function isUnrebindable(hostname: string): boolean {
  return hostname === 'localhost' || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
}
