import { isDataError } from '@agentlens/database';
import { isDatabaseAway } from '@agentlens/platform';
import { type CommandAnswer, refusal } from './answer.ts';

/** What the database will not take is the asker's to change, and that it is away is the asker's to know. */
export async function answered<T>(answer: Promise<CommandAnswer<T>>): Promise<CommandAnswer<T>> {
  try {
    return await answer;
  } catch (error) {
    if (isDataError(error)) {
      const remedy = 'Remove control characters and half characters, and shorten what is very long or deeply nested.';
      return refusal(400, 'It holds text that cannot be stored', remedy);
    }
    if (isDatabaseAway(error)) {
      return refusal(503, 'The database does not answer now', 'Nothing was changed. Send the same request again.');
    }
    throw error;
  }
}
