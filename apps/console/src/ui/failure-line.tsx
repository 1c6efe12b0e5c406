/** Why what was just tried did not work, read out at once; nothing where it did. */
export function FailureLine({ children }: { children: string | undefined }) {
  if (children === undefined) return null;
  return (
    <p className="hint bad" role="alert">
      {children}
    </p>
  );
}
