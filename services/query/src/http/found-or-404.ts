import { ProblemException } from '@agentlens/platform';

/** Returns the value or throws 404. Data of another tenant gets the same answer as data that does not exist. */
export function foundOr404<T>(thing: string, found: T | null | undefined): T {
  if (found !== null && found !== undefined) return found;
  throw new ProblemException(404, `${thing} not found`, {
    hint: 'Check the id, and that the API key belongs to the tenant in which it was created.',
  });
}
