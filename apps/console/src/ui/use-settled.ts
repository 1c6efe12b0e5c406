import { useEffect, useState } from 'react';

/** The value once it has not changed for a while, such as a text when typing has paused. */
export function useSettled<T>(value: T, afterMs: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timeout = setTimeout(() => setSettled(value), afterMs);
    return () => clearTimeout(timeout);
  }, [value, afterMs]);
  return settled;
}
