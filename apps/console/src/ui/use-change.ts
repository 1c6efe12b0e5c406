import { useQueryClient } from '@tanstack/react-query';
import { toast, toastError } from './toast.tsx';

/**
 * Makes a change, refetches the affected query, and reports success or the error.
 * @param read key of the query to refetch
 */
export function useChange(read: string, refusal = 'Not done') {
  const queries = useQueryClient();
  return async (done: string, act: () => Promise<unknown>): Promise<void> => {
    try {
      await act();
      await queries.invalidateQueries({ queryKey: [read] });
      toast(done);
    } catch (error) {
      toastError(refusal, error);
    }
  };
}
