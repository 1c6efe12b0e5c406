import { useQueryClient } from '@tanstack/react-query';
import { toast, toastError } from './toast.tsx';

/**
 * Makes a change, reads again what the page shows of it, and says that it is done, or why not.
 * @param read the key of what is read again
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
