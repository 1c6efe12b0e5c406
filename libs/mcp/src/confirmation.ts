import {
  acceptedContent,
  type InputRequiredResult,
  inputRequired,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

/** What has to be confirmed before an action is carried out. */
export interface Confirmation {
  /** The exact effect, for the person who confirms. */
  readonly question: string;
  /** Only a person may confirm it, asked by the client. Absent: the argument `confirm` will do in a client that cannot ask. */
  readonly onlyAsked?: { readonly path: string };
}

/** Whether to go on; else what to answer instead. */
type Confirmed =
  | { readonly kind: 'yes' }
  | { readonly kind: 'ask'; readonly result: InputRequiredResult }
  | { readonly kind: 'no'; readonly why: string };

const ANSWER = 'confirmation';
const Answer = z.object({ confirm: z.boolean().meta({ title: 'Yes, do it' }) });

interface Asking {
  readonly context: ServerContext;
  readonly canAsk: boolean;
  /** The argument of that name. */
  readonly confirm: unknown;
  readonly consoleUrl: string;
}

/** A client that can ask its user does, whatever the caller says; of another the caller says that its user has agreed. */
export function confirmed({ question, onlyAsked }: Confirmation, asking: Asking): Confirmed {
  const { context, canAsk, confirm, consoleUrl } = asking;
  const { inputResponses } = context.mcpReq;
  if (canAsk && inputResponses?.[ANSWER] === undefined) {
    const request = inputRequired.elicit({ message: question, requestedSchema: Answer });
    return { kind: 'ask', result: inputRequired({ inputRequests: { [ANSWER]: request } }) };
  }
  if (canAsk) {
    const agreed = acceptedContent(inputResponses, ANSWER, Answer)?.confirm === true;
    return agreed ? { kind: 'yes' } : { kind: 'no', why: 'The user did not confirm. Nothing was changed.' };
  }
  if (onlyAsked !== undefined) {
    const why = `Only a person may decide this, and this client cannot ask one. Nothing was changed. The console can: ${consoleUrl}${onlyAsked.path}`;
    return { kind: 'no', why };
  }
  if (confirm === true) return { kind: 'yes' };
  return {
    kind: 'no',
    why: `${question}\nNothing was changed yet. Ask the user; once they agree, call again with "confirm": true.`,
  };
}
