/** The client of the durable limiter maitred. Start with `new Maitred()`. */
export { Maitred, type LimitCalls, type LimitFields, type RunCalls, type SlotCalls, type SlotFields } from './client.js';
export type { AcquireOptions, Limits } from './acquire.js';
export type { Duration } from './duration.js';
export { MaitredError, SlotExpiredError, SlotLostError, SlotTimeoutError, type Outcome } from './errors.js';
export type { Following, Told } from './events.js';
export type { ClientOptions } from './http.js';
export {
  RateLimitExceededError,
  type ConcurrencySpec,
  type Enforcing,
  type RateLimit,
  type RateLimitBody,
  type RateLimitDecision,
  type RateLimitResult,
  type RateSpec,
} from './rate-limit.js';
export * from './register.js';
export type { Slot } from './slot.js';
export { defineWorkspace, type WorkflowEntry, type Workspace, type WorkspaceFields } from './workspace.js';
export type * as wire from './wire.js';
