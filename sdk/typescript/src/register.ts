/**
 * Where an app tells which limits it has, so that a misspelt one does not compile:
 *
 * ```ts
 * declare module 'maitred' {
 *   interface Register { workspace: typeof workspace }
 * }
 * ```
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type
export interface Register {}

/** The name of a declared limit; any text in an app that has registered none. */
export type LimitName = Register extends { workspace: { limits: infer Limits } } ? Extract<keyof Limits, string> : string;
