import { ProblemException } from '@agentlens/platform';

/** The thing, or 404. What belongs to another tenant does not exist: both get the same answer. */
export function foundOr404<T>(thing: string, found: T | null | undefined): T {
  if (found !== null && found !== undefined) return found;
  throw new ProblemException(404, `${thing} not found`, {
    hint: 'Check the id, and that the API key belongs to the tenant it was made in.',
  });
}
