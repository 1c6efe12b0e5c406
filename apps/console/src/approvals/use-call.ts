import { useQuery } from '@tanstack/react-query';
import { client } from '../api/client.ts';
import type { Alert } from '../api/model.ts';
import { problemOf, problemText } from '../api/problem.ts';
import { useMay } from '../shell/me.tsx';
import { parseExact } from '../ui/exact-json.ts';
import { callInMessage } from './call-in-message.ts';

/** A part of a call: its text as written, and its value if the text is JSON. */
export interface CallPart {
  readonly text: string | undefined;
  readonly value: unknown;
}

/** The call that needs approval, and whether enough of it is known to approve it. */
export interface CallToDecide {
  readonly args: CallPart;
  readonly result: CallPart | undefined;
  /** `cut`: the whole call was never stored. `message`: only the message of the alert is available. */
  readonly extent: 'reading' | 'whole' | 'cut' | 'message';
  /** What is missing, and what to do about it. */
  readonly lacks: string | undefined;
  readonly mayApprove: boolean;
  /** Reads the call again, if that may help. */
  readonly retry: (() => void) | undefined;
}

export function useCall(alert: Alert): CallToDecide {
  const { may } = useMay('review');
  const read = useQuery({
    queryKey: ['call', alert.id],
    queryFn: ({ signal }) => client.getAlertCall({ params: { id: alert.id }, signal }),
    select: partsOf,
    // A stored call never changes.
    staleTime: Number.POSITIVE_INFINITY,
    enabled: may,
  });
  if (read.data !== undefined) {
    const { args, result, cut } = read.data;
    return {
      args,
      result,
      extent: cut === undefined ? 'whole' : 'cut',
      lacks:
        cut === undefined
          ? undefined
          : `This is not the whole call: ${cut}. It cannot be approved. Deny it, and let the agent ask for a smaller call.`,
      mayApprove: cut === undefined,
      retry: undefined,
    };
  }
  const { args, text } = callInMessage(alert.message);
  const told = { args: { value: args, text }, result: undefined, extent: 'message', retry: undefined } as const;
  if (!may) {
    const lacks = 'This is the message of the alert. Reading the whole call needs a key with the scope review.';
    return { ...told, lacks, mayApprove: false };
  }
  if (read.error === null) return { ...told, extent: 'reading', lacks: undefined, mayApprove: false };
  const problem = problemOf(read.error);
  if (problem.status === 404) {
    const lacks = 'The whole call was not stored. This is the message of the alert.';
    return { ...told, lacks, mayApprove: true };
  }
  return {
    ...told,
    lacks: `The whole call could not be read: ${problemText(read.error)} This is the message of the alert.`,
    mayApprove: false,
    retry: () => void read.refetch(),
  };
}

type AnsweredCall = Awaited<ReturnType<typeof client.getAlertCall>>;

function partsOf({ arguments: args, result, cut }: AnsweredCall) {
  return { args: partOf(args), result: result === undefined ? undefined : partOf(result), cut };
}

function partOf(text: string): CallPart {
  return { text, value: parseExact(text) };
}
