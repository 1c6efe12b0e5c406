import { isDatabaseAway } from '@agentlens/platform';
import { type Answer, refusal } from './answer.ts';
import { isDataError } from './triggers/data-error.ts';

/** What the database will not take is the asker's to change, and that it is away is the asker's to know. */
export async function answered<T>(answer: Promise<Answer<T>>): Promise<Answer<T>> {
  try {
    return await answer;
  } catch (error) {
    if (isDataError(error)) {
      return refusal(400, 'It holds text that cannot be stored', 'Remove control characters and half characters.');
    }
    if (isDatabaseAway(error)) {
      return refusal(503, 'The database does not answer now', 'Nothing was changed. Send the same request again.');
    }
    throw error;
  }
}
