/** Error message of the last attempt, announced to screen readers. */
export function FailureLine({ children }: { children: string | undefined }) {
  if (children === undefined) return null;
  return (
    <p className="hint bad" role="alert">
      {children}
    </p>
  );
}
