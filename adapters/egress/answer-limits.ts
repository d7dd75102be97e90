/** How much of one answer is read, and how long each part of it may be waited for. */
export interface AnswerLimits {
  /** After inflation. */
  maxBytes: number;
  /** Of one server-sent event, and so of one line; null: the answer is no stream of events. */
  maxEventBytes: number | null;
  /** Values in the JSON of one event: a few bytes of text may become hundreds of bytes of memory. */
  maxEventValues: number | null;
  /** null: as many as there is room for. */
  maxEvents: number | null;
  /** An answer of status 400 or above ends here, as if it had no more to say; null: it is limited like any other. */
  maxErrorBytes: number | null;
  /** From the request to the head of the answer, informational heads not counted. */
  headersMs: number;
  /** Between two pieces of the body. */
  idleMs: number;
  /** From the request to the last byte; null: the caller has a deadline. */
  totalMs: number | null;
}

const KiB = 1_024;
const MiB = 1_048_576;

/** What a process asks of servers that somebody else runs. */
export type AnswerUse = keyof typeof answerLimits;

/** An answer that is no stream of events, and whose every part has the same time. */
const oneDocumentWithin = (ms: number) => ({
  maxEventBytes: null,
  maxEventValues: null,
  maxEvents: null,
  headersMs: ms,
  idleMs: ms,
  totalMs: ms,
});

export const answerLimits = {
  /** The longest patience, for models that think; `idle-limit.ts` has less with others. */
  model: {
    maxBytes: 256 * MiB,
    maxEventBytes: 4 * MiB,
    maxEventValues: 250_000,
    maxEvents: null,
    maxErrorBytes: 64 * KiB,
    headersMs: 300_000,
    idleMs: 300_000,
    totalMs: null,
  },
  /** A server that answers with JSON has no head to send before its tool is done: the client's own patience is shorter. */
  tool_server: {
    maxBytes: 16 * MiB,
    maxEventBytes: 4 * MiB,
    maxEventValues: 250_000,
    maxEvents: 10_000,
    maxErrorBytes: 64 * KiB,
    headersMs: 65_000,
    idleMs: 600_000,
    totalMs: null,
  },
  identity_provider: {
    maxBytes: 64 * KiB,
    maxErrorBytes: null,
    ...oneDocumentWithin(5_000),
  },
  /** Gives tokens for the credentials of clients. */
  token_endpoint: {
    maxBytes: 64 * KiB,
    maxErrorBytes: 64 * KiB,
    ...oneDocumentWithin(10_000),
  },
  /** Only the status is of interest. */
  tracing: {
    maxBytes: 64 * KiB,
    maxErrorBytes: 64 * KiB,
    ...oneDocumentWithin(10_000),
  },
  name_recogniser: {
    maxBytes: 4 * MiB,
    maxErrorBytes: 64 * KiB,
    ...oneDocumentWithin(10_000),
  },
} satisfies Record<string, AnswerLimits>;

/** How long the rest of a refusal is waited for: its status is known. */
export const errorBodyMs = 5_000;
