/**
 * The token of the hook on which a run waits for a slot. The DevKit's own view shows it as the name of the bar, so it
 * says what the run waits for; the slot's id makes it one of a kind. It is no secret: only code of the app can resume a
 * hook like this one.
 */
export const hookToken = (limit: string, slot: string): string => `${hookName(limit)} · ${slot}`;

export const hookName = (limit: string): string => `Esperando hueco · ${limit}`;
