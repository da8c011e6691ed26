// Names for the shapes of the generated document.
import type { components } from "./generated";

type Schemas = components["schemas"];

export type LimitInfo = Schemas["LimitInfo"];
export type LimitOverview = Schemas["LimitOverview"];
export type Overview = Schemas["OverviewAnswer"];
export type LimitSlots = Schemas["LimitSlotsAnswer"];
export type Slot = Schemas["SlotInfo"];
export type Health = Schemas["LimitHealth"];
export type Series = Schemas["SeriesAnswer"];
export type Preview = Schemas["PreviewAnswer"];
export type Released = Schemas["ReleaseAnswer"];
export type Explained = Schemas["ExplainAnswer"];
export type ExplainedSlot = Schemas["ExplainedSlot"];
export type History = Schemas["HistoryAnswer"];
export type Ended = Schemas["EndedSlot"];
export type Audit = Schemas["AuditAnswer"];
export type Nodes = Schemas["NodesAnswer"];
export type Act = Schemas["AuditEntry"];
export type Run = Schemas["RunInfo"];
export type Runs = Schemas["RunsAnswer"];
export type RunAnswer = Schemas["RunAnswer"];
export type Key = Schemas["KeyInfo"];
export type Keys = Schemas["KeysAnswer"];
export type Ready = Schemas["ReadyAnswer"];
export type Whoami = Schemas["WhoamiAnswer"];
export type Namespaces = Schemas["NamespacesAnswer"];
export type Problem = Schemas["Problem"];
export type Decision = Schemas["Decision"];
