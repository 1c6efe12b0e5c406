/** The statuses of an approval that nobody has decided; an acknowledged one was only looked at. */
export const WAITING = 'pending,acknowledged';
