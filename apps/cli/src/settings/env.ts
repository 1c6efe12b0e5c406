/** The variables of the process. */
export type Env = Readonly<Record<string, string | undefined>>;
