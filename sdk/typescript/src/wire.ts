/** The shapes of the API, by the names they have there. */
import type { components } from './generated/v1.js';

type Schemas = components['schemas'];

export type AcquireFields = Schemas['AcquireFields'];
export type Decision = Schemas['Decision'];
export type EndedSlot = Schemas['EndedSlot'];
export type ExplainAnswer = Schemas['ExplainAnswer'];
export type HistoryAnswer = Schemas['HistoryAnswer'];
export type KeysAnswer = Schemas['KeysAnswer'];
export type LimitAnswer = Schemas['LimitAnswer'];
export type LimitInfo = Schemas['LimitInfo'];
export type LimitSlotsAnswer = Schemas['LimitSlotsAnswer'];
export type LimitsAnswer = Schemas['LimitsAnswer'];
export type LiveEvent = Schemas['LiveEvent'];
export type LiveSnapshot = Schemas['LiveSnapshot'];
export type Reason = Schemas['Reason'];
export type ReleaseAnswer = Schemas['ReleaseAnswer'];
export type RunAnswer = Schemas['RunAnswer'];
export type RunStatus = Schemas['RunStatus'];
export type RunsAnswer = Schemas['RunsAnswer'];
export type SlotAnswer = Schemas['SlotAnswer'];
export type SlotInfo = Schemas['SlotInfo'];
export type SlotState = Schemas['SlotState'];
export type SpecFields = Schemas['SpecFields'];
export type SpecResult = Schemas['SpecResult'];
