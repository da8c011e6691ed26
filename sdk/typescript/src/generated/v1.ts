// Generated from openapi/v1.json by `npm run generate`. Do not edit.

export interface paths {
    "/healthz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The same as `/livez`. */
        get: operations["healthy"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/livez": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The process runs. */
        get: operations["live"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/metrics": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Numbers in the text form of OpenMetrics, which Prometheus reads. A token with prefixes sees those of its limits. */
        get: operations["metrics"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/openapi.json": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** This API as an OpenAPI document. */
        get: operations["openapi"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/readyz": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Whether the server takes calls: 200, or 503 with the reasons. */
        get: operations["ready"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/admit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Counts and takes all of the specs for a task, or none; with `check` only says what would come of it.
         * @description Over the limit, an enforced call gets a 429 that names the limit that blocks by its label. A check is never
         *     refused, and neither is a call with `enforce: false`.
         */
        post: operations["admit"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/audit": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What was changed about limits, newest first: by whom, why, and what it was before. */
        get: operations["list_acts"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/batch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Carries out up to 1,000 calls in order, each with its own outcome and its own id. Not atomic; nothing waits. */
        post: operations["batch"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/clock": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The server's time. Only with `--clock manual`. */
        get: operations["show_clock"];
        put?: never;
        /** Moves the time forward, through everything due on the way. Only with `--clock manual`. */
        post: operations["move_clock"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What is true, and then everything that happens, as it becomes durable: a stream of server-sent events.
         * @description `snapshot` comes first: the limits, or the slots of the one limit. Then one `events` for each revision at which
         *     something happened, its data a list. `reset` says that the caller fell too far behind or came back too late; a new
         *     `snapshot` follows. `bye` is the last: the server stops, or the stream cannot go on; its data says why. The `id` is
         *     the revision. A comment comes every 15 s. Events are hints: the state of a slot is the truth.
         */
        get: operations["stream_events"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Why a slot, a run, or what has this label is not moving: in words and in numbers. */
        get: operations["explain"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * Slots that ended, newest first, each with its whole story.
         * @description The history is filled behind the journal and bounded; `reach` says how far it goes and how far behind it is.
         */
        get: operations["list_ends"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/keys": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Keys that are counted or held: all by page, masked unless `reveal`; or one. */
        get: operations["list_keys"];
        put?: never;
        post?: never;
        /** Forgets what is counted against a rate key: its window is over. Places in flight stay. */
        delete: operations["reset_rate"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/limits": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The limits of the namespace, by name. */
        get: operations["list_limits"];
        /** Deploys the whole set: every limit of the namespace that is not in it is retired. */
        put: operations["deploy_limits"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/limits/{limit}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** One limit as it is. */
        get: operations["show_limit"];
        /** Declares this one limit; the others stay as they are. */
        put: operations["declare_limit"];
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/limits/{limit}/capacity": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Overrides the capacity until it is reset. */
        put: operations["set_capacity"];
        post?: never;
        /** Goes back to the declared capacity. */
        delete: operations["reset_capacity"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/limits/{limit}/history": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Slots of this limit that ended, newest first. */
        get: operations["list_limit_ends"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/limits/{limit}/max-hold": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Overrides the max hold of slots granted from now on, until it is reset. */
        put: operations["set_max_hold"];
        post?: never;
        /** Goes back to the declared max hold. */
        delete: operations["reset_max_hold"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/limits/{limit}/pause": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        /** Pauses the limit: no grants until it is resumed. */
        put: operations["pause_limit"];
        post?: never;
        /** Resumes the limit: whoever is first and has room is granted at once. */
        delete: operations["resume_limit"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/limits/{limit}/preview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a change of a limit would do. Changes nothing. */
        get: operations["preview_change"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/limits/{limit}/series": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a limit did over time. */
        get: operations["limit_series"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/limits/{limit}/slots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The slots of the limit: busy ones, reserved ones, then the queue in order, all at one revision. */
        get: operations["list_limit_slots"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/namespaces": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The namespaces that exist. */
        get: operations["list_namespaces"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/nodes": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The servers that share the journal, as this one sees them; only this one where the journal is its own. */
        get: operations["list_nodes"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The limits with their health: searched, sorted, a page at a time.
         * @description How they stand is exact at `revision`; what they did (health, waits, expiries, floor) is known since the server
         *     began to look, and a few records behind at the most.
         */
        get: operations["overview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The runs that hold or wait for something, all or those that are wanted. */
        get: operations["list_runs"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What a run holds and waits for. */
        get: operations["show_run"];
        put?: never;
        /** Starts a run of a workflow that this server hosts. A run of this id that there is already stays as it is. */
        post: operations["start_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run}/cancel": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Cancels a run that this server hosts: it runs no more code and leaves every queue. A run that has ended stays as it is. */
        post: operations["cancel_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/runs/{run}/end": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Ends a run: it leaves every queue, its places are free, and hits that count successes only are given back
         *     unless it succeeded. Its busy slots stay busy unless they were taken with `hold: run`.
         */
        post: operations["end_run"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/slots": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Asks for a slot. With `wait` the call stays open until the slot is granted or ended, or the wait runs out.
         * @description The id of the slot makes the call repeatable: the same id with the same content is the same slot. Who asked
         *     with `confirm: auto` and closes the connection while the call is open has left the queue.
         */
        post: operations["acquire_slot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/slots/{slot}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** The slot as it is. */
        get: operations["show_slot"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/slots/{slot}/confirm": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Makes a reserved slot busy. Answers what the slot now is, whatever that may be. */
        post: operations["confirm_slot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/slots/{slot}/explain": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Why this slot is not moving. */
        get: operations["explain_slot"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/slots/{slot}/leave": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Gives up a queued or reserved slot; a busy one stays busy. */
        post: operations["leave_slot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/slots/{slot}/release": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** Gives a slot back. Whoever knows the id may; the second time says `released: false` and changes nothing. */
        post: operations["release_slot"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/whoami": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What the server takes the caller for: the token's name, role and limits. */
        get: operations["whoami"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Asks for a slot in one limit (`limit`, with `weight`) or in several (`limits`). */
        AcquireFields: {
            confirm?: components["schemas"]["ConfirmMode"];
            hold?: components["schemas"]["HoldMode"];
            /** @description An id for people to find. No personal data. No part of the slot's content. */
            label?: string | null;
            /** @description The limit it is of, if it is one. */
            limit?: string | null;
            /** @description Or the limits it is of, up to 8: it is granted when there is room in all of them. */
            limits?: components["schemas"]["WeightedLimit"][];
            /**
             * @description The execution that asks. When it ends, its slots that wait or are reserved are gone, and with `hold: run` the busy
             *     ones too.
             */
            run?: string | null;
            /**
             * @description The id of the slot, chosen by the caller: the same id with the same content is the same slot, so a call
             *     whose answer was lost can be made again. Made by the server if absent.
             */
            slot?: string | null;
            /** @description How long to stay in the queue: `30m` or milliseconds, 24 h if absent, at most 400 days; 0 does not wait. */
            timeout?: components["schemas"]["Given"];
            /** @description How long this call stays open for the grant: a duration, absent for none. Not part of the slot. */
            wait?: components["schemas"]["Given"];
            /** @description How much of `limit` the slot takes, 1 if absent. */
            weight?: components["schemas"]["Given"];
            /** @description What it is a run of, for people to find. No part of the slot's content. */
            workflow?: string | null;
        };
        /** @description Counts and takes all of the specs for a task, or none. */
        AdmitFields: {
            /** @description The verdict only: nothing is counted or taken. */
            check?: boolean;
            /** @description Over the limit: a 429 (true, the default), or the decision with `overLimit` (false). */
            enforce?: boolean;
            /** @description Required where a spec is a place in flight or counts successes only. */
            run?: string | null;
            /** @description 1 to 16. */
            specs: components["schemas"]["SpecFields"][];
            /** @description What is limited: a key counts within its task. */
            task: string;
        };
        /** @description The answer to a [`Call`] that was done. */
        Answer: components["schemas"]["ReleaseAnswer"] | components["schemas"]["SlotAnswer"] | components["schemas"]["Decision"] | components["schemas"]["LimitSlotsAnswer"] | components["schemas"]["PreviewAnswer"] | components["schemas"]["SeriesAnswer"] | components["schemas"]["LimitAnswer"] | components["schemas"]["OverviewAnswer"] | components["schemas"]["LimitsAnswer"] | components["schemas"]["NamespacesAnswer"] | components["schemas"]["NodesAnswer"] | components["schemas"]["RunAnswer"] | components["schemas"]["RunsAnswer"] | components["schemas"]["KeysAnswer"] | components["schemas"]["HistoryAnswer"] | components["schemas"]["AuditAnswer"] | components["schemas"]["ExplainAnswer"] | components["schemas"]["DoneAnswer"];
        AuditAnswer: {
            /** @description Newest first. */
            acts: components["schemas"]["AuditEntry"][];
            /** @description Give it as `before` for the next page; absent on the last. */
            next?: string | null;
            reach: components["schemas"]["Reach"];
        };
        /** @description What was changed about limits, by whom, and what it was before. */
        AuditEntry: {
            /**
             * @description `declared`, `retired`, `gone`, `capacity`, `max_hold`, `paused`, `resumed`, `rate_reset`, and `released`: by hand,
             *     that is with a reason, `before` being the slot.
             */
            act: string;
            after?: string | null;
            /** Format: int64 */
            at: number;
            before?: string | null;
            /** @description Who did it; absent for the limiter itself. */
            by?: string | null;
            reason?: string | null;
            /** Format: int64 */
            revision: number;
            /** @description The limit, or `task/key` of a rate, with the key masked. */
            target: string;
        };
        /** @description Which acts are wanted: those that fit everything that is given. */
        AuditFields: {
            /** @description Those of this kind only: `capacity`, `paused`, `released`, …. */
            act?: string | null;
            /** @description The `next` of the page before. */
            before?: string | null;
            /** @description Those by somebody whose name has this in it. */
            by?: string | null;
            /** @description Those on this limit only. */
            limit?: string | null;
            /**
             * Format: int32
             * @description How many at the most.
             */
            most?: number | null;
            /**
             * Format: int64
             * @description Those at or after this. Milliseconds since 1970.
             */
            since?: number | null;
            /**
             * Format: int64
             * @description Those before this. Milliseconds since 1970.
             */
            until?: number | null;
        };
        BatchAnswer: {
            /** @description One per item, in order. */
            results: components["schemas"]["BatchResult"][];
        };
        BatchBody: components["schemas"]["Problem"] | components["schemas"]["Answer"];
        /** @description Up to 1,000 calls, carried out in order, each with its own outcome. Not atomic; nothing waits. */
        BatchFields: {
            items: components["schemas"]["BatchItem"][];
        };
        BatchItem: components["schemas"]["Call"] & {
            /** @description The item's own `Idempotency-Key`. */
            id?: string | null;
        };
        /** @description `status` is what the single call would have been answered with. */
        BatchResult: {
            body: components["schemas"]["BatchBody"];
            /** Format: int32 */
            status: number;
        };
        /**
         * @description What keeps a slot waiting in one limit.
         * @enum {string}
         */
        Block: "none" | "full" | "paused" | "too_small" | "behind";
        /** @description One question. As JSON it carries its name in `op`; a batch is a list of them. */
        Call: (components["schemas"]["NamedLimit"] & {
            /** @enum {string} */
            op: "declare";
        }) | {
            limits: components["schemas"]["NamedLimit"][];
            /** @enum {string} */
            op: "deploy";
        } | {
            capacity?: components["schemas"]["Given"];
            limit: string;
            /** @enum {string} */
            op: "set_capacity";
        } | {
            limit: string;
            /** @enum {string} */
            op: "reset_capacity";
        } | {
            limit: string;
            max_hold?: components["schemas"]["Given"];
            /** @enum {string} */
            op: "set_max_hold";
        } | {
            limit: string;
            /** @enum {string} */
            op: "reset_max_hold";
        } | {
            limit: string;
            /** @enum {string} */
            op: "pause";
        } | {
            limit: string;
            /** @enum {string} */
            op: "resume";
        } | (components["schemas"]["AcquireFields"] & {
            /** @enum {string} */
            op: "acquire";
        }) | {
            /** @enum {string} */
            op: "confirm";
            slot: string;
        } | {
            /** @enum {string} */
            op: "release";
            slot: string;
        } | {
            /** @enum {string} */
            op: "leave";
            slot: string;
        } | {
            /** @enum {string} */
            op: "end_run";
            run: string;
            status: components["schemas"]["RunStatus"];
        } | {
            input?: Record<string, never>;
            /** @enum {string} */
            op: "start_run";
            run: string;
            workflow: string;
        } | {
            /** @enum {string} */
            op: "cancel_run";
            run: string;
        } | (components["schemas"]["AdmitFields"] & {
            /** @enum {string} */
            op: "admit";
        }) | {
            key: string;
            /** @enum {string} */
            op: "reset_rate";
            task: string;
        } | {
            after?: string | null;
            /** Format: int32 */
            most?: number | null;
            /** @enum {string} */
            op: "limits";
        } | {
            limit: string;
            /** @enum {string} */
            op: "limit";
        } | {
            limit: string;
            /** Format: int32 */
            most?: number | null;
            /** @enum {string} */
            op: "limit_slots";
            /** Format: int32 */
            skip?: number;
        } | {
            /** @enum {string} */
            op: "slot";
            slot: string;
            wait?: components["schemas"]["Given"];
        } | (components["schemas"]["RunsFields"] & {
            /** @enum {string} */
            op: "runs";
        }) | {
            /** @enum {string} */
            op: "run";
            run: string;
        } | {
            before?: string | null;
            label?: string | null;
            limit?: string | null;
            /** Format: int32 */
            most?: number | null;
            /** @enum {string} */
            op: "history";
            run?: string | null;
            slot?: string | null;
        } | (components["schemas"]["AuditFields"] & {
            /** @enum {string} */
            op: "audit";
        }) | {
            /** @enum {string} */
            op: "explain";
            what: string;
        } | (components["schemas"]["OverviewFields"] & {
            /** @enum {string} */
            op: "overview";
        }) | {
            limit: string;
            /** @enum {string} */
            op: "series";
            /** @description How far back: at most 24 h, an hour if absent. Steps of 10 s up to an hour, else of a minute. */
            range?: components["schemas"]["Given"];
        } | {
            /** @description A number, or `reset`; as it is, if absent. */
            capacity?: components["schemas"]["Given"];
            limit: string;
            /** @description A duration, or `reset`; as it is, if absent. */
            max_hold?: components["schemas"]["Given"];
            /** @enum {string} */
            op: "preview";
        } | {
            /** @enum {string} */
            op: "namespaces";
        } | {
            /** @enum {string} */
            op: "nodes";
        } | {
            after?: string | null;
            key?: string | null;
            /** Format: int32 */
            most?: number | null;
            /** @enum {string} */
            op: "keys";
            task?: string | null;
        };
        CapacityFields: {
            /** @description A whole number, 1 to 100000. */
            capacity?: components["schemas"]["Given"];
        };
        ClockAnswer: {
            /**
             * Format: int64
             * @description Milliseconds since 1970.
             */
            now: number;
        };
        /** @description Moves a manual clock, to a time or by a duration: one of the two. */
        ClockFields: {
            /** @description `5m` or milliseconds. */
            advance?: components["schemas"]["Given"];
            /**
             * Format: int64
             * @description Milliseconds since 1970. An earlier time than now changes nothing.
             */
            advance_to?: number | null;
        };
        /**
         * @description Who makes a granted slot busy: its holder by `confirm` within two minutes, or the grant itself.
         * @enum {string}
         */
        ConfirmMode: "holder" | "auto";
        /** @description The verdict over all specs of a call. */
        Decision: {
            /** Format: int64 */
            asOf?: number;
            /** @description The spec that blocks, counted from 0 in the order of the call. */
            blockedBy?: number | null;
            /** @description The limiter could not answer, so nothing was checked. */
            degraded: boolean;
            overLimit: boolean;
            /** @description The answer to a request id that was answered before. */
            replayed?: boolean;
            /** @description One per spec; empty when degraded. */
            results: components["schemas"]["SpecResult"][];
            /**
             * Format: int64
             * @description The longest wait among the rates that are over; 0 when allowed and when concurrency blocks.
             */
            retryAfterSeconds: number;
            /** Format: int64 */
            revision?: number;
            /** @description The kind that blocks (concurrency, if both do); when nothing does, the kind of the first spec. */
            type: components["schemas"]["LimitKind"];
        };
        /** @description The whole set of a namespace: every limit that is not in it is retired. */
        DeployFields: {
            limits: components["schemas"]["NamedLimit"][];
        };
        DoneAnswer: {
            /** Format: int64 */
            as_of: number;
            /** Format: int64 */
            revision: number;
        };
        /** @description How a slot ended, with its whole story. */
        EndedSlot: {
            /** Format: int64 */
            asked_at: number;
            /** @description Who ended it, where somebody did. */
            by?: string | null;
            /** Format: int64 */
            ended_at: number;
            /** Format: int64 */
            fence?: number | null;
            /** Format: int64 */
            granted_at?: number | null;
            /**
             * Format: int64
             * @description From the last grant to the end.
             */
            held_ms?: number | null;
            label?: string | null;
            /**
             * Format: int32
             * @description How often a reservation of it lapsed.
             */
            laps: number;
            limits: components["schemas"]["LimitShare"][];
            /** @description Why, in the words of whoever did. */
            reason?: string | null;
            /**
             * Format: int64
             * @description The revision with which it ended.
             */
            revision: number;
            run?: string | null;
            slot: string;
            state: components["schemas"]["SlotState"];
            /**
             * Format: int64
             * @description From the question to the last grant, or to the end if it was never granted.
             */
            waited_ms: number;
            /** @description What it was just before: `new` (a wait of zero), `queued`, `reserved` or `busy`. */
            was: string;
            workflow?: string | null;
        };
        EndRunFields: {
            status: components["schemas"]["RunStatus"];
        };
        /** @enum {string} */
        ErrorWord: "error";
        /** @description Why something is not moving, in words and in numbers. */
        ExplainAnswer: {
            /** Format: int64 */
            as_of: number;
            /** @description The last ends of it, where the history has them; newest first. */
            ended: components["schemas"]["EndedSlot"][];
            kind: components["schemas"]["ExplainedKind"];
            /** Format: int64 */
            revision: number;
            /** @description Slots that are alive: the one asked about, or those of the run or label. */
            slots: components["schemas"]["ExplainedSlot"][];
            /** @description The answer in a sentence or two. */
            text: string;
            /** @description What was asked about, and what it was taken for. */
            what: string;
        };
        /** @enum {string} */
        ExplainedKind: "slot" | "run" | "label" | "unknown";
        ExplainedLimit: {
            block: components["schemas"]["Block"];
            /** Format: int32 */
            capacity: number;
            first?: components["schemas"]["SlotInfo"] | null;
            /** @description Who holds, the one that comes back first in front; at most ten. */
            holders: components["schemas"]["SlotInfo"][];
            limit: string;
            /**
             * Format: int64
             * @description The slot's place in this queue, from 1.
             */
            place: number;
            /**
             * Format: int64
             * @description Weights of busy and reserved slots.
             */
            used: number;
            /** Format: int32 */
            waiting: number;
            /** Format: int32 */
            weight: number;
        };
        ExplainedSlot: components["schemas"]["SlotInfo"] & {
            /**
             * Format: int64
             * @description When the next place of a limit that blocks comes back at the latest. Absent if none is held.
             */
            next_due_at?: number | null;
            text: string;
            /** @description For a slot that waits: how things stand in each limit it names. */
            waits_for: components["schemas"]["ExplainedLimit"][];
        };
        /** @description A whole number, also as text; where a duration is asked for, milliseconds or text such as `45m`. */
        Given: number | string;
        /** @description How many limits have this health. */
        HealthCount: {
            health: components["schemas"]["LimitHealth"];
            /** Format: int32 */
            limits: number;
        };
        HistoryAnswer: {
            /** @description Newest first. */
            ends: components["schemas"]["EndedSlot"][];
            /** @description Give it as `before` for the next page; absent on the last. */
            next?: string | null;
            reach: components["schemas"]["Reach"];
        };
        /**
         * @description Until when a busy slot is held, its expiry aside: until released, or also until its run ends.
         * @enum {string}
         */
        HoldMode: "released" | "run";
        /** @description A key of a task: what is counted against it and how many runs hold a place of it. */
        KeyInfo: {
            /** Format: int64 */
            in_flight: number;
            key: string;
            task: string;
            window?: components["schemas"]["WindowInfo"] | null;
        };
        KeysAnswer: {
            /** Format: int64 */
            as_of: number;
            keys: components["schemas"]["KeyInfo"][];
            /** @description Give it as `after` for the next page; absent on the last. */
            next?: string | null;
            /** Format: int64 */
            revision: number;
        };
        LimitAnswer: components["schemas"]["LimitInfo"] & {
            /** Format: int64 */
            as_of: number;
            /** Format: int64 */
            revision: number;
        };
        /** @description What `PUT /v1/limits/{limit}` declares. */
        LimitFields: {
            /** @description A whole number, 1 to 100000. */
            capacity?: components["schemas"]["Given"];
            /** @description `45m`, `1h30m`, … or milliseconds: 1 ms to 30 days. Required. */
            max_hold?: components["schemas"]["Given"];
        };
        /**
         * @description Only limits of which this is true.
         * @enum {string}
         */
        LimitFilter: "overridden" | "waiting" | "paused" | "retired";
        /**
         * @description What the numbers of a limit say together.
         * @enum {string}
         */
        LimitHealth: "leaking" | "stuck" | "stalled" | "saturated" | "unknown" | "ok";
        /** @description A limit as it is. */
        LimitInfo: {
            /**
             * Format: int64
             * @description Capacity less busy and reserved, never below 0.
             */
            available: number;
            /**
             * Format: int64
             * @description Sum of the weights of busy slots. Never includes reserved ones.
             */
            busy: number;
            /** Format: int32 */
            busy_slots: number;
            /**
             * Format: int32
             * @description In force: the operator's override, else what is declared.
             */
            capacity: number;
            /** Format: int32 */
            capacity_override?: number | null;
            /** Format: int32 */
            declared_capacity: number;
            /** Format: int64 */
            declared_max_hold_ms: number;
            limit: string;
            /** Format: int64 */
            max_hold_ms: number;
            /** Format: int64 */
            max_hold_override_ms?: number | null;
            /** Format: int64 */
            oldest_granted_at?: number | null;
            /** Format: int64 */
            oldest_queued_at?: number | null;
            paused: boolean;
            /** Format: int64 */
            reserved: number;
            /** Format: int32 */
            reserved_slots: number;
            retired: boolean;
            /**
             * @description Names these settings: another one once any of them is changed. A change of the limit that carries it as `If-Match`
             *     is refused if somebody else was faster.
             */
            tag?: string;
            /**
             * Format: int32
             * @description Slots in the queue.
             */
            waiting: number;
        };
        /** @enum {string} */
        LimitKind: "rate" | "concurrency";
        /**
         * @description By what the list is sorted; equal ones by name.
         * @enum {string}
         */
        LimitOrder: "attention" | "name" | "health" | "used" | "capacity" | "waiting" | "oldest_wait" | "oldest_hold" | "wait_p50" | "wait_p99" | "expired" | "max_hold";
        /** @description A limit with what its last day says about it. */
        LimitOverview: components["schemas"]["LimitInfo"] & {
            /** @description What to do about it. Empty where nothing is wrong. */
            advice: string;
            /**
             * Format: int64
             * @description When the queue will be empty at the pace of the last 10 minutes, if nobody joins.
             */
            drains_in_ms?: number | null;
            /** @description What the verdict was made from, in words. Empty where nothing is wrong. */
            evidence: string;
            /**
             * Format: int64
             * @description Slots taken back at their max hold in the last 24 hours.
             */
            expired_24h: number;
            /** @description The lowest number of available places in each of the last 60 minutes, the oldest first; null where unknown. */
            floor: (number | null)[];
            health: components["schemas"]["LimitHealth"];
            /**
             * Format: int32
             * @description Busy slots whose run has ended.
             */
            held_by_ended_runs: number;
            /**
             * Format: int64
             * @description From when on the limit's numbers are known to this server.
             */
            known_since: number;
            /**
             * Format: int64
             * @description Of the grants in the last 15 minutes: how long they had waited.
             */
            wait_p50_ms?: number | null;
            /** Format: int64 */
            wait_p99_ms?: number | null;
        };
        LimitsAnswer: {
            /** Format: int64 */
            as_of: number;
            /** @description By name. */
            limits: components["schemas"]["LimitInfo"][];
            /** @description Give it as `after` for the next page; absent on the last. */
            next?: string | null;
            /** Format: int64 */
            revision: number;
        };
        LimitShare: {
            limit: string;
            /** Format: int32 */
            weight: number;
        };
        /** @description One limit with its slots, all at one revision. */
        LimitSlotsAnswer: {
            /** Format: int64 */
            as_of: number;
            /** @description Busy ones in the order of their grants, then reserved ones. */
            holders: components["schemas"]["SlotInfo"][];
            limit: components["schemas"]["LimitInfo"];
            /** @description In order: the first is next. */
            queue: components["schemas"]["SlotInfo"][];
            /** Format: int64 */
            revision: number;
        };
        /** @description The process runs and its threads turn. */
        LiveAnswer: {
            live: boolean;
            version: string;
        };
        /** @description Something that happened, in the order it happened. A hint: the slot's or limit's own state is the truth. */
        LiveEvent: {
            /** Format: int64 */
            at: number;
            by?: string | null;
            /** Format: int64 */
            expires_at?: number | null;
            /** Format: int64 */
            fence?: number | null;
            /**
             * @description `limit_declared`, `limit_retired`, `limit_gone`, `capacity_overridden`, `max_hold_overridden`,
             *     `limit_paused`, `limit_resumed`, `slot_queued`, `slot_granted`, `slot_confirmed`, `slot_put_back`,
             *     `slot_ended`, `run_ended`, `rate_reset`.
             */
            kind: string;
            label?: string | null;
            limit?: string | null;
            /** @description Of a slot over several limits: all of them, `limit` being the first. */
            limits?: string[];
            /** Format: int64 */
            revision: number;
            run?: string | null;
            slot?: string | null;
            /** @description Of a slot that ended: how. Of a grant: `busy` or `reserved`. */
            state?: string | null;
            /**
             * Format: int64
             * @description Of a grant: since it was last queued.
             */
            waited_ms?: number | null;
        };
        /** @description How a stream begins: what is true at its revision. Everything after it comes as events. */
        LiveSnapshot: components["schemas"]["LimitSlotsAnswer"] | components["schemas"]["LimitsAnswer"];
        MaxHoldFields: {
            /** @description `45m`, `1h30m`, … or milliseconds: 1 ms to 30 days. */
            max_hold?: components["schemas"]["Given"];
        };
        /** @description One limit of a deployed set. */
        NamedLimit: {
            /** @description A whole number, 1 to 100000. Required. */
            capacity?: components["schemas"]["Given"];
            /** @description `45m`, `1h30m`, … or milliseconds: 1 ms to 30 days. Required. */
            max_hold?: components["schemas"]["Given"];
            name: string;
        };
        /** @description The namespaces that exist. */
        NamespacesAnswer: {
            /** Format: int64 */
            as_of: number;
            /** @description By name. */
            namespaces: string[];
            /** Format: int64 */
            revision: number;
        };
        /** @description A server on the journal, as the one that was asked sees it. */
        NodeInfo: {
            /** @description It shows itself to the others. One that does not is taken for dead after five seconds and forgotten some time later. */
            live: boolean;
            /** @description Its process: another one after each start. */
            node: string;
            /**
             * Format: int64
             * @description When it last showed itself, by the clock of the one that was asked; absent for one that was never seen, but holds
             *     lines.
             */
            seen_at?: number | null;
            /**
             * Format: int32
             * @description The newest version of the rules that it can follow; absent where it has not said so.
             */
            supports_rules?: number | null;
            /** @description The one that was asked. */
            this: boolean;
            /** @description Of the one that was asked: its build. */
            version?: string | null;
        };
        NodesAnswer: {
            /** Format: int64 */
            as_of: number;
            /** @description The one that was asked first. */
            nodes: components["schemas"]["NodeInfo"][];
            /** Format: int64 */
            revision: number;
            /**
             * Format: int32
             * @description The version of the rules in force: what all can follow.
             */
            rules: number;
            /** @description Several servers may write the journal. If not, this one is all there are. */
            shared: boolean;
        };
        /** @description A page of limits, all of it at one revision. */
        OverviewAnswer: {
            /** Format: int64 */
            as_of: number;
            /** @description Of all limits, those of each health that there are any of. */
            health: components["schemas"]["HealthCount"][];
            limits: components["schemas"]["LimitOverview"][];
            /**
             * Format: int32
             * @description Those that fit what was asked.
             */
            matching: number;
            /** Format: int64 */
            revision: number;
            /**
             * Format: int32
             * @description All limits of the namespace.
             */
            total: number;
        };
        /** @description Which limits, in which order. */
        OverviewFields: {
            health?: components["schemas"]["LimitHealth"] | null;
            /** @description This limit only. */
            limit?: string | null;
            /**
             * Format: int32
             * @description How many at the most.
             */
            most?: number | null;
            only?: components["schemas"]["LimitFilter"] | null;
            /** @description The other way round: numbers come largest first, names from a, unless this is true. */
            reverse?: boolean;
            /**
             * Format: int32
             * @description How many of those that fit to pass over.
             */
            skip?: number;
            sort?: components["schemas"]["LimitOrder"];
            /** @description Names that have this in them. */
            text?: string | null;
        };
        PlaceInfo: {
            /** Format: int64 */
            expires_at: number;
            key: string;
            task: string;
        };
        /** @description What a change of a limit would do, if it were made at this revision. Nothing was done. */
        PreviewAnswer: {
            /** Format: int64 */
            as_of: number;
            /**
             * Format: int32
             * @description In force after the change.
             */
            capacity: number;
            /** @description The same in words, a sentence each. */
            effects: string[];
            limit: string;
            /** Format: int64 */
            max_hold_ms: number;
            /**
             * Format: int32
             * @description Waiting slots that would not fit any more, however long they wait.
             */
            never_fit: number;
            /**
             * Format: int64
             * @description By how much busy and reserved slots would exceed the capacity; they stay.
             */
            over: number;
            /** Format: int64 */
            revision: number;
            /**
             * Format: int32
             * @description Waiting slots that would be granted at once.
             */
            starts: number;
        };
        /** @description The answer that a call was not done, or that nobody knows. */
        Problem: {
            details?: unknown;
            /** @description For display: what was wrong, what is allowed, what to do. May change. */
            message: string;
            reason: components["schemas"]["Reason"];
            /** @description Names this answer in the server's log. */
            request_id?: string | null;
            /** @description Always `error`. */
            status: components["schemas"]["ErrorWord"];
        };
        /** @description How far the history reaches. It is filled behind the journal and bounded by age and rows. */
        Reach: {
            /**
             * Format: int64
             * @description Everything up to this revision is in it.
             */
            filled_to: number;
            /**
             * Format: int64
             * @description How many records it is behind.
             */
            lag: number;
            /**
             * Format: int64
             * @description What ended before this is no longer in it.
             */
            since: number;
            /** @description Why it does not fill, if it does not. */
            trouble?: string | null;
        };
        /** @description Whether the server takes calls, and what it remembers. */
        ReadyAnswer: {
            /** Format: int64 */
            as_of: number;
            /** @description It was told to stop and finishes what it began. */
            draining: boolean;
            /**
             * Format: int64
             * @description Ids with a time before this are refused as too old. Milliseconds since 1970.
             */
            horizon: number;
            /** @description Why it is not ready, or what an operator should know although it is. */
            notes: string[];
            ready: boolean;
            /**
             * Format: double
             * @description The same for ids without a time. When it is full, new ones are refused.
             */
            remembered_other: number;
            /**
             * Format: double
             * @description How full the room for remembered ids that carry a time is, 0 to 1. When it is full the horizon moves.
             */
            remembered_timed: number;
            /** Format: int64 */
            revision: number;
        };
        /**
         * @description Why. The codes are for programs and do not change.
         * @enum {string}
         */
        Reason: "invalid_namespace" | "invalid_limit_name" | "invalid_capacity" | "invalid_max_hold" | "invalid_timeout" | "invalid_wait" | "invalid_weight" | "invalid_run" | "invalid_label" | "invalid_id" | "invalid_argument" | "invalid_key" | "invalid_limit" | "invalid_window" | "invalid_cost" | "duplicate_key" | "duplicate_limit" | "too_many_specs" | "too_many_limits_in_slot" | "too_many_items" | "invalid_body" | "unauthorized" | "forbidden" | "not_found" | "limit_not_found" | "method_not_allowed" | "request_timeout" | "limit_retired" | "never_fits" | "conflict" | "too_old" | "settings_changed" | "body_too_large" | "unsupported_media_type" | "wrong_host" | "rate_limit_exceeded" | "concurrency_limit_exceeded" | "headers_too_large" | "internal" | "queue_full" | "too_many_slots" | "too_many_limits" | "too_many_keys" | "too_many_namespaces" | "idempotency_full" | "storage_full" | "overloaded" | "unavailable" | "unsupported_rules" | "unknown";
        ReleaseAnswer: {
            /** Format: int64 */
            as_of: number;
            /** @description Whether this call freed the slot. A second release, or one after the max hold, says false. */
            released: boolean;
            /** Format: int64 */
            revision: number;
            slot: string;
            /** @description What the slot is now. */
            state: components["schemas"]["SlotState"];
        };
        RunAnswer: components["schemas"]["RunInfo"] & {
            /** Format: int64 */
            as_of: number;
            /** Format: int64 */
            revision: number;
        };
        /**
         * @description Only runs of which this is true.
         * @enum {string}
         */
        RunFilter: "waiting" | "holding" | "ended";
        /** @description What a run holds and waits for. A run that does neither is not known. */
        RunInfo: {
            /**
             * Format: int64
             * @description Hits that are given back if it does not succeed.
             */
            hits: number;
            /** @description What it answered, as JSON, or its error, where this server hosted it. */
            output?: string | null;
            places: components["schemas"]["PlaceInfo"][];
            run: string;
            slots: components["schemas"]["SlotInfo"][];
            status?: components["schemas"]["RunState"] | null;
            /** @description Its waits for slots; where this server hosts the run: all its steps. Of a list: those of slots that are live. */
            steps?: components["schemas"]["RunStep"][];
            /** @description The workflow or task that it is a run of, where that is known. */
            workflow?: string | null;
        };
        RunsAnswer: {
            /** Format: int64 */
            as_of: number;
            /** @description Give it as `after` for the next page; absent on the last. */
            next?: string | null;
            /** Format: int64 */
            revision: number;
            runs: components["schemas"]["RunInfo"][];
        };
        /**
         * @description Which runs are wanted: those that fit everything that is given. Where something is, a page may be short or empty, and
         *     more may follow on the next.
         */
        RunsFields: {
            /** @description The `next` of the page before. */
            after?: string | null;
            /** @description Those that hold or wait for a slot of this limit. */
            limit?: string | null;
            /**
             * Format: int32
             * @description How many at the most.
             */
            most?: number | null;
            only?: components["schemas"]["RunFilter"] | null;
            /** @description Those whose id, workflow, label or limits have this in them. */
            text?: string | null;
        };
        /**
         * @description How a run stands.
         * @enum {string}
         */
        RunState: "running" | "succeeded" | "failed" | "cancelled";
        /** @enum {string} */
        RunStatus: "succeeded" | "failed" | "cancelled";
        /** @description One step of a run, as people see it. */
        RunStep: {
            /**
             * Format: int64
             * @description Absent while it is open.
             */
            ended_at?: number | null;
            kind: components["schemas"]["StepKind"];
            /** @description Of a wait for a slot: the limit, or the first of several. */
            limit?: string | null;
            /** @description `Esperando hueco · voice-calls`, or the name of the program's own step. */
            name: string;
            /** Format: int64 */
            started_at: number;
            state: components["schemas"]["StepState"];
        };
        /** @description What a limit did over time, in steps of equal length, the oldest first: each list has one number a step. */
        SeriesAnswer: {
            /** Format: int64 */
            as_of: number;
            /** @description When each step began. */
            at: number[];
            /** @description The lowest number of available places in the step. */
            available_min: (number | null)[];
            capacity: (number | null)[];
            expired: number[];
            grants: number[];
            /**
             * Format: int64
             * @description What was before this is not known to this server: it began, or kept no more.
             */
            known_since: number;
            /** @description Reservations that lapsed. */
            lapsed: number[];
            left: number[];
            limit: string;
            released: number[];
            /** @description Of the places that were not available then, those that were reserved: granted, and not confirmed yet. */
            reserved: (number | null)[];
            /** Format: int64 */
            revision: number;
            run_ended: number[];
            /** Format: int64 */
            step_ms: number;
            timed_out: number[];
            /** @description How long those that were granted in the step had waited, to about 6 percent. */
            wait_p50_ms: (number | null)[];
            wait_p99_ms: (number | null)[];
            /** @description The highest number of slots in the queue. */
            waiting_max: (number | null)[];
        };
        SlotAnswer: components["schemas"]["SlotInfo"] & {
            /** Format: int64 */
            as_of: number;
            /** Format: int64 */
            revision: number;
        };
        /** @description A slot as it is. A slot that has ended has only its id, its state and how it ended. */
        SlotInfo: {
            /** Format: int64 */
            asked_at?: number | null;
            confirm?: components["schemas"]["ConfirmMode"] | null;
            /**
             * Format: int64
             * @description When it is taken back. Set at the grant, never moved.
             */
            expires_at?: number | null;
            /**
             * Format: int64
             * @description A number that grows with every grant, for resources that can refuse an older holder.
             */
            fence?: number | null;
            /**
             * Format: int64
             * @description When it times out, if it still waits then.
             */
            gives_up_at?: number | null;
            /** Format: int64 */
            granted_at?: number | null;
            hold?: components["schemas"]["HoldMode"] | null;
            label?: string | null;
            /**
             * Format: int32
             * @description How often a reservation of it lapsed.
             */
            laps?: number | null;
            /**
             * Format: int64
             * @description When the reservation lapses, if it is not confirmed.
             */
            lapses_at?: number | null;
            limits?: components["schemas"]["LimitShare"][];
            /**
             * Format: int64
             * @description Its place in the queue of the first limit it names, from 1.
             */
            place?: number | null;
            /** Format: int64 */
            queued_at?: number | null;
            run?: string | null;
            /**
             * Format: int64
             * @description When its run ended, if it is held on after that. Absent also if that was before what this server remembers.
             */
            run_ended_at?: number | null;
            slot: string;
            state: components["schemas"]["SlotState"];
            workflow?: string | null;
        };
        /**
         * @description How a slot stands. It waits (`queued`), or is its holder's (`reserved` until confirmed, then `busy`), or has ended:
         *     given back, taken back when its max hold was over (`expired`), given up by its timeout, by its holder (`left`) or by its
         *     run's end. `unknown`: there is no such slot, or it ended so long ago that it is forgotten.
         * @enum {string}
         */
        SlotState: "queued" | "reserved" | "busy" | "released" | "expired" | "timed_out" | "left" | "run_ended" | "unknown";
        /** @description A rate if it has a window, else a place in flight. */
        SpecFields: {
            /** @description How much one call counts, 1 if absent. */
            cost?: components["schemas"]["Given"];
            /** @description Give the hit back if the run does not succeed. */
            countSuccessesOnly?: boolean;
            key: string;
            /** @description What a refusal calls this limit. The key is never told. */
            label?: string | null;
            limit?: components["schemas"]["Given"];
            /** @description A whole number of seconds, 1 to 34560000 (400 days). */
            windowSeconds?: components["schemas"]["Given"];
        };
        SpecResult: {
            label?: string | null;
            /** Format: int64 */
            limit: number;
            over: boolean;
            /** Format: int64 */
            remaining: number;
            /** Format: int64 */
            resetSeconds: number;
            /** Format: int64 */
            used: number;
        };
        /** @description Starts a run of a workflow that this server hosts. */
        StartRunFields: {
            /** @description What its body is given. */
            input?: Record<string, never>;
            workflow: string;
        };
        /** @enum {string} */
        StepKind: "hook" | "step" | "timer" | "run";
        /** @enum {string} */
        StepState: "open" | "closed" | "failed" | "cancelled";
        WeightedLimit: {
            limit: string;
            /** @description How much of it the slot takes, 1 if absent. */
            weight?: components["schemas"]["Given"];
        };
        /** @description What the server takes the caller for. */
        WhoamiAnswer: {
            /** @description Only limits whose names begin with one of these; all, if there are none. */
            limits: string[];
            /** @description The name of the token, if it has one. */
            name?: string | null;
            /** @description `read`, `operate` or `admin`. */
            role: string;
            version: string;
        };
        WindowInfo: {
            /** Format: int64 */
            ends_at: number;
            /**
             * Format: int64
             * @description Whole seconds until then, rounded up.
             */
            resets_in_s: number;
            /** Format: int64 */
            started_at: number;
            /** Format: int64 */
            used: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    healthy: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LiveAnswer"];
                };
            };
        };
    };
    live: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LiveAnswer"];
                };
            };
        };
    };
    metrics: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/openmetrics-text": string;
                };
            };
        };
    };
    openapi: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": Record<string, never>;
                };
            };
        };
    };
    ready: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadyAnswer"];
                };
            };
            503: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReadyAnswer"];
                };
            };
        };
    };
    admit: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same id with the same content has one effect and one verdict. */
                "Idempotency-Key"?: string;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Who asks, for the record. A named token wins over it. */
                "Maitred-By"?: string;
                /** @description Why, for the record. */
                "Maitred-Reason"?: string;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AdmitFields"];
            };
        };
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Decision"];
                };
            };
        };
    };
    list_acts: {
        parameters: {
            query?: {
                /** @description Those of this kind only: `capacity`, `paused`, `released`, …. */
                act?: string;
                /** @description The `next` of the page before. */
                before?: string;
                /** @description Those by somebody whose name has this in it. */
                by?: string;
                /** @description Those on this limit only. */
                limit?: string;
                /** @description How many at the most. */
                most?: number;
                /** @description Those at or after this. Milliseconds since 1970. */
                since?: number;
                /** @description Those before this. Milliseconds since 1970. */
                until?: number;
            };
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AuditAnswer"];
                };
            };
        };
    };
    batch: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same id with the same content has one effect and one verdict. */
                "Idempotency-Key"?: string;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Who asks, for the record. A named token wins over it. */
                "Maitred-By"?: string;
                /** @description Why, for the record. */
                "Maitred-Reason"?: string;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["BatchFields"];
            };
        };
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["BatchAnswer"];
                };
            };
        };
    };
    show_clock: {
        parameters: {
            query?: never;
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClockAnswer"];
                };
            };
        };
    };
    move_clock: {
        parameters: {
            query?: never;
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ClockFields"];
            };
        };
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ClockAnswer"];
                };
            };
        };
    };
    stream_events: {
        parameters: {
            query?: {
                /** @description Go on behind this revision instead of with a snapshot. The header `Last-Event-ID` does the same and wins. */
                after?: number;
                /** @description Of this limit only; else of the whole namespace. */
                limit?: string;
                /** @description Wait until at least this revision can be seen. */
                min_revision?: number;
            };
            header?: {
                /** @description The last `id` that was seen: the stream goes on behind it. */
                "Last-Event-ID"?: number;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": string;
                };
            };
        };
    };
    explain: {
        parameters: {
            query: {
                /** @description Wait until at least this revision can be seen. */
                min_revision?: number;
                /** @description The id of a slot, else a run, else a label. */
                what: string;
            };
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExplainAnswer"];
                };
            };
        };
    };
    list_ends: {
        parameters: {
            query?: {
                /** @description The `next` of the page before. */
                before?: string;
                label?: string;
                limit?: string;
                /** @description How many at the most. */
                most?: number;
                run?: string;
                slot?: string;
            };
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryAnswer"];
                };
            };
        };
    };
    list_keys: {
        parameters: {
            query?: {
                /** @description The `next` of the page before. */
                after?: string;
                key?: string;
                /** @description Wait until at least this revision can be seen. */
                min_revision?: number;
                /** @description How many at the most. */
                most?: number;
                /** @description Show whole keys. Without it a list shows their first letters: a key can name a person. Needs the role admin. */
                reveal?: boolean;
                /** @description Together with `key`: this one only, even if nothing is counted. */
                task?: string;
            };
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["KeysAnswer"];
                };
            };
        };
    };
    reset_rate: {
        parameters: {
            query: {
                key: string;
                task: string;
            };
            header?: {
                /** @description The same id with the same content has one effect and one verdict. */
                "Idempotency-Key"?: string;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Who asks, for the record. A named token wins over it. */
                "Maitred-By"?: string;
                /** @description Why, for the record. */
                "Maitred-Reason"?: string;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DoneAnswer"];
                };
            };
        };
    };
    list_limits: {
        parameters: {
            query?: {
                /** @description The `next` of the page before. */
                after?: string;
                /** @description Wait until at least this revision can be seen. */
                min_revision?: number;
                /** @description How many at the most. */
                most?: number;
            };
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitsAnswer"];
                };
            };
        };
    };
    deploy_limits: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same id with the same content has one effect and one verdict. */
                "Idempotency-Key"?: string;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Who asks, for the record. A named token wins over it. */
                "Maitred-By"?: string;
                /** @description Why, for the record. */
                "Maitred-Reason"?: string;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["DeployFields"];
            };
        };
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DoneAnswer"];
                };
            };
        };
    };
    show_limit: {
        parameters: {
            query?: {
                /** @description Wait until at least this revision can be seen. */
                min_revision?: number;
            };
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                limit: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitAnswer"];
                };
            };
        };
    };
    declare_limit: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same id with the same content has one effect and one verdict. */
                "Idempotency-Key"?: string;
                /** @description The `tag` of the limit as the caller saw it: if it has another by now, nothing is changed (412). */
                "If-Match"?: string;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Who asks, for the record. A named token wins over it. */
                "Maitred-By"?: string;
                /** @description Why, for the record. */
                "Maitred-Reason"?: string;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                limit: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["LimitFields"];
            };
        };
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitAnswer"];
                };
            };
        };
    };
    set_capacity: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same id with the same content has one effect and one verdict. */
                "Idempotency-Key"?: string;
                /** @description The `tag` of the limit as the caller saw it: if it has another by now, nothing is changed (412). */
                "If-Match"?: string;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Who asks, for the record. A named token wins over it. */
                "Maitred-By"?: string;
                /** @description Why, for the record. */
                "Maitred-Reason"?: string;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                limit: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["CapacityFields"];
            };
        };
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitAnswer"];
                };
            };
        };
    };
    reset_capacity: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same id with the same content has one effect and one verdict. */
                "Idempotency-Key"?: string;
                /** @description The `tag` of the limit as the caller saw it: if it has another by now, nothing is changed (412). */
                "If-Match"?: string;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Who asks, for the record. A named token wins over it. */
                "Maitred-By"?: string;
                /** @description Why, for the record. */
                "Maitred-Reason"?: string;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                limit: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitAnswer"];
                };
            };
        };
    };
    list_limit_ends: {
        parameters: {
            query?: {
                /** @description The `next` of the page before. */
                before?: string;
                /** @description How many at the most. */
                most?: number;
            };
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                limit: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HistoryAnswer"];
                };
            };
        };
    };
    set_max_hold: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same id with the same content has one effect and one verdict. */
                "Idempotency-Key"?: string;
                /** @description The `tag` of the limit as the caller saw it: if it has another by now, nothing is changed (412). */
                "If-Match"?: string;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Who asks, for the record. A named token wins over it. */
                "Maitred-By"?: string;
                /** @description Why, for the record. */
                "Maitred-Reason"?: string;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                limit: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MaxHoldFields"];
            };
        };
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitAnswer"];
                };
            };
        };
    };
    reset_max_hold: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same id with the same content has one effect and one verdict. */
                "Idempotency-Key"?: string;
                /** @description The `tag` of the limit as the caller saw it: if it has another by now, nothing is changed (412). */
                "If-Match"?: string;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Who asks, for the record. A named token wins over it. */
                "Maitred-By"?: string;
                /** @description Why, for the record. */
                "Maitred-Reason"?: string;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                limit: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitAnswer"];
                };
            };
        };
    };
    pause_limit: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same id with the same content has one effect and one verdict. */
                "Idempotency-Key"?: string;
                /** @description The `tag` of the limit as the caller saw it: if it has another by now, nothing is changed (412). */
                "If-Match"?: string;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Who asks, for the record. A named token wins over it. */
                "Maitred-By"?: string;
                /** @description Why, for the record. */
                "Maitred-Reason"?: string;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                limit: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitAnswer"];
                };
            };
        };
    };
    resume_limit: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same id with the same content has one effect and one verdict. */
                "Idempotency-Key"?: string;
                /** @description The `tag` of the limit as the caller saw it: if it has another by now, nothing is changed (412). */
                "If-Match"?: string;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Who asks, for the record. A named token wins over it. */
                "Maitred-By"?: string;
                /** @description Why, for the record. */
                "Maitred-Reason"?: string;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                limit: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitAnswer"];
                };
            };
        };
    };
    preview_change: {
        parameters: {
            query?: {
                /** @description A whole number, or `reset`; as it is, if absent. */
                capacity?: string;
                /** @description `45m`, milliseconds, or `reset`; as it is, if absent. */
                max_hold?: string;
                /** @description Wait until at least this revision can be seen. */
                min_revision?: number;
            };
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                limit: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["PreviewAnswer"];
                };
            };
        };
    };
    limit_series: {
        parameters: {
            query?: {
                /** @description Wait until at least this revision can be seen. */
                min_revision?: number;
                /** @description `15m`, `6h`, …: 1 m to 24 h, 1 h if absent. Steps of 10 s up to an hour, else of a minute. */
                range?: string;
            };
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                limit: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SeriesAnswer"];
                };
            };
        };
    };
    list_limit_slots: {
        parameters: {
            query?: {
                /** @description Wait until at least this revision can be seen. */
                min_revision?: number;
                /** @description How many at the most. */
                most?: number;
                /** @description How many to leave out at the front. */
                skip?: number;
            };
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                limit: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LimitSlotsAnswer"];
                };
            };
        };
    };
    list_namespaces: {
        parameters: {
            query?: {
                /** @description Wait until at least this revision can be seen. */
                min_revision?: number;
            };
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NamespacesAnswer"];
                };
            };
        };
    };
    list_nodes: {
        parameters: {
            query?: {
                /** @description Wait until at least this revision can be seen. */
                min_revision?: number;
            };
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["NodesAnswer"];
                };
            };
        };
    };
    overview: {
        parameters: {
            query?: {
                health?: "leaking" | "stuck" | "stalled" | "saturated" | "unknown" | "ok";
                /** @description This limit only. */
                limit?: string;
                /** @description Wait until at least this revision can be seen. */
                min_revision?: number;
                /** @description How many at the most. */
                most?: number;
                only?: "overridden" | "waiting" | "paused" | "retired";
                /** @description The other way round: numbers come largest first, names from a, unless this is true. */
                reverse?: boolean;
                /** @description How many of those that fit to pass over. */
                skip?: number;
                sort?: "attention" | "name" | "health" | "used" | "capacity" | "waiting" | "oldest_wait" | "oldest_hold" | "wait_p50" | "wait_p99" | "expired" | "max_hold";
                /** @description Names that have this in them. */
                text?: string;
            };
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["OverviewAnswer"];
                };
            };
        };
    };
    list_runs: {
        parameters: {
            query?: {
                /** @description The `next` of the page before. */
                after?: string;
                /** @description Those that hold or wait for a slot of this limit. */
                limit?: string;
                /** @description Wait until at least this revision can be seen. */
                min_revision?: number;
                /** @description How many at the most. */
                most?: number;
                only?: "waiting" | "holding" | "ended";
                /**
                 * @description Show the whole keys of places. Without it their first letters are shown: a key can name a person. Needs the
                 *     role admin.
                 */
                reveal?: boolean;
                /** @description Those whose id, workflow, label or limits have this in them. */
                text?: string;
            };
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunsAnswer"];
                };
            };
        };
    };
    show_run: {
        parameters: {
            query?: {
                /** @description Wait until at least this revision can be seen. */
                min_revision?: number;
                /**
                 * @description Show the whole keys of places. Without it their first letters are shown: a key can name a person. Needs the
                 *     role admin.
                 */
                reveal?: boolean;
            };
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunAnswer"];
                };
            };
        };
    };
    start_run: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same id with the same content has one effect and one verdict. */
                "Idempotency-Key"?: string;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Who asks, for the record. A named token wins over it. */
                "Maitred-By"?: string;
                /** @description Why, for the record. */
                "Maitred-Reason"?: string;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["StartRunFields"];
            };
        };
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunAnswer"];
                };
            };
        };
    };
    cancel_run: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same id with the same content has one effect and one verdict. */
                "Idempotency-Key"?: string;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Who asks, for the record. A named token wins over it. */
                "Maitred-By"?: string;
                /** @description Why, for the record. */
                "Maitred-Reason"?: string;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunAnswer"];
                };
            };
        };
    };
    end_run: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same id with the same content has one effect and one verdict. */
                "Idempotency-Key"?: string;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Who asks, for the record. A named token wins over it. */
                "Maitred-By"?: string;
                /** @description Why, for the record. */
                "Maitred-Reason"?: string;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                run: string;
            };
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EndRunFields"];
            };
        };
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["DoneAnswer"];
                };
            };
        };
    };
    acquire_slot: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same id with the same content has one effect and one verdict. */
                "Idempotency-Key"?: string;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Who asks, for the record. A named token wins over it. */
                "Maitred-By"?: string;
                /** @description Why, for the record. */
                "Maitred-Reason"?: string;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["AcquireFields"];
            };
        };
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SlotAnswer"];
                };
            };
        };
    };
    show_slot: {
        parameters: {
            query?: {
                /** @description Wait until at least this revision can be seen. */
                min_revision?: number;
                /** @description Stay open until it is granted or ended, this long at the most: `30s` or milliseconds. */
                wait?: string;
            };
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                slot: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SlotAnswer"];
                };
            };
        };
    };
    confirm_slot: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same id with the same content has one effect and one verdict. */
                "Idempotency-Key"?: string;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Who asks, for the record. A named token wins over it. */
                "Maitred-By"?: string;
                /** @description Why, for the record. */
                "Maitred-Reason"?: string;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                slot: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SlotAnswer"];
                };
            };
        };
    };
    explain_slot: {
        parameters: {
            query?: {
                /** @description Wait until at least this revision can be seen. */
                min_revision?: number;
            };
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                slot: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ExplainAnswer"];
                };
            };
        };
    };
    leave_slot: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same id with the same content has one effect and one verdict. */
                "Idempotency-Key"?: string;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Who asks, for the record. A named token wins over it. */
                "Maitred-By"?: string;
                /** @description Why, for the record. */
                "Maitred-Reason"?: string;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                slot: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SlotAnswer"];
                };
            };
        };
    };
    release_slot: {
        parameters: {
            query?: never;
            header?: {
                /** @description The same id with the same content has one effect and one verdict. */
                "Idempotency-Key"?: string;
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Who asks, for the record. A named token wins over it. */
                "Maitred-By"?: string;
                /** @description Why, for the record. */
                "Maitred-Reason"?: string;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path: {
                slot: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ReleaseAnswer"];
                };
            };
        };
    };
    whoami: {
        parameters: {
            query?: never;
            header?: {
                /** @description The namespace, `default` if absent. */
                "Maitred-Agent"?: string;
                /** @description Wait until at least this revision can be seen. Also accepted as the query parameter `min_revision`. */
                "Maitred-Min-Revision"?: number;
                /** @description Names this request in the answer and in the log: 1 to 64 of `A-Z a-z 0-9 . _ -`. Made up if absent. */
                "X-Request-Id"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Refused: nothing happened. `reason` says why. */
            "4XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            /** @description Not done, or for `unknown` and `internal` perhaps done: ask again. */
            "5XX": {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Problem"];
                };
            };
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WhoamiAnswer"];
                };
            };
        };
    };
}
